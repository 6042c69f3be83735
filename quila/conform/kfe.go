package conform

// The libraries of key features: recall, creation, merging, shadows, deletion.

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/stores"
)

func storeLibrary(t *report, c *config.Config, entries ...stores.KFEEntry[float32]) *stores.KFE {
	s, err := stores.NewKFE(c, stores.KFEOptions{})
	t.Must(err)
	for _, e := range entries {
		t.Must(s.Insert(0, e))
	}
	return s
}

func entry(t *report, s *stores.KFE, id uint64) stores.KFEEntry[float32] {
	e, err := s.Library(0).Get(id)
	t.Must(err)
	return e
}

func kfeEmpty(t *report) {
	const dim = 16
	s := storeLibrary(t, settings(t, 1, dim))
	h, out := normals(storeSource(1), dim), make([]float32, dim)
	stores.NewKFEReader[float32](s).Recall(0, 0, h, out, nil)
	if !slices.Equal(h, out) {
		t.Errorf("h_kfe is not h_mid")
	}
}

func kfeRecall(t *report) {
	const dim = 16
	c := settings(t, 1, dim)
	c.KFEClip = false
	s := storeLibrary(t, c, plainEntry(dim, 0), plainEntry(dim, 1), plainEntry(dim, 2))
	h := make([]float64, dim)
	h[0], h[1], h[2], h[5] = .5, 1.25, -.75, 2
	want := softmax([]float64{h[0], h[1], h[2]})
	out := make([]float64, dim)
	var found stores.Recalled[float64]
	stores.NewKFEReader[float64](s).Recall(0, 0, h, out, &found)
	if len(found.IDs) != 3 || found.IDs[0] != 1 {
		t.Fatalf("found %v, the nearest is 1", found.IDs)
	}
	var worst float64
	for i, id := range found.IDs {
		worst = max(worst, math.Abs(found.Weight[i]-want[id]))
	}
	for j := range out {
		worst = max(worst, math.Abs(out[j]-h[j]-(want[0]+2*want[1]+3*want[2])))
	}
	t.Within("difference of weights and h_kfe", worst, 1e-6)
	t.Must(s.Commit(t.Context(), 7))
	for id := range uint64(3) {
		if e := entry(t, s, id); e.Count != 1 || e.Last != 7 {
			t.Errorf("entry %d: %d recalls, the last in turn %d; want 1 in turn 7", id, e.Count, e.Last)
		}
	}
	t.Figure("difference %.1e", worst)
}

func kfeCreate(t *report) {
	const dim = 16
	made := 0
	for i := range 16 {
		o := stores.Offer{Activation: .4, Utility: .4, Confidence: .5, Phase: 2, Mid: axis(dim, 3), Smooth: axis(dim, 4)}
		if i&1 != 0 {
			o.Activation = .6
		}
		if i&2 != 0 {
			o.Utility = .6
		}
		if i&4 != 0 {
			o.Confidence = .7
		}
		if i&8 != 0 {
			o.Phase = 3
		}
		s := storeLibrary(t, settings(t, 1, dim))
		_, err := s.Offer(0, o)
		t.Must(err)
		t.Must(s.Commit(t.Context(), 1))
		made += s.Len()
		if (s.Len() == 1) != (i == 15) {
			t.Errorf("%+v makes %d entries", o, s.Len())
		}
	}
	t.Figure("%d of 16", made)
}

func kfeMerge(t *report) {
	const dim = 64
	old := plainEntry(dim, 0)
	old.Utility, old.Confidence, old.Count, old.Last, old.Soft = .6, .8, 3, 2, true
	for _, x := range []struct {
		cos     float64
		utility float32
		merges  bool
	}{{.9701, .55, true}, {.9701, .9, true}, {.9699, .9, false}} {
		s := storeLibrary(t, settings(t, 1, dim), old)
		mid := axis(dim, 0)
		for i := range mid {
			mid[i] *= float32(5 * x.cos)
		}
		mid[1] = float32(5 * math.Sqrt(1-x.cos*x.cos))
		smooth := axis(dim, 9)
		_, err := s.Offer(0, stores.Offer{Activation: .6, Utility: x.utility, Confidence: .7, Phase: 3, Mid: mid, Smooth: smooth})
		t.Must(err)
		t.Must(s.Commit(t.Context(), 5))
		n := s.Library(0).Index().Len()
		if (s.Len() == 1) != x.merges || n != s.Len() {
			t.Errorf("cosine %g: %d entries, %d in the index", x.cos, s.Len(), n)
			continue
		}
		if !x.merges {
			continue
		}
		want := stores.KFEEntry[float32]{ID: 0, Snapshot: old.Snapshot, Utility: .6, Confidence: .8, Count: 3, Last: 5}
		if x.utility > old.Utility {
			want = stores.KFEEntry[float32]{ID: 1, Snapshot: smooth, Utility: x.utility, Confidence: .7, Count: 3, Last: 5}
		}
		got := entry(t, s, want.ID)
		if got.Utility != want.Utility || got.Confidence != want.Confidence || got.Count != want.Count || got.Last != want.Last || got.Soft || !slices.Equal(got.Snapshot, want.Snapshot) {
			t.Errorf("merged %+v, want %+v", got, want)
		}
		// The direction between two of an angle with that cosine.
		half := math.Sqrt((1 + x.cos) / 2)
		t.Within("error of the embedding", math.Abs(float64(got.Embedding[0])-half), 1e-3)
	}
}

func kfeShadow(t *report) {
	const dim = 16
	c := settings(t, 1, dim)
	c.KFEClip = false
	shadow := plainEntry(dim, 0)
	shadow.Soft = true
	s := storeLibrary(t, c, shadow, plainEntry(dim, 1))
	h, out := make([]float32, dim), make([]float32, dim)
	recall := func(turn int64) *stores.Recalled[float32] {
		var found stores.Recalled[float32]
		stores.NewKFEReader[float32](s).Recall(0, 0, h, out, &found)
		t.Must(s.Commit(t.Context(), turn))
		return &found
	}
	h[0], h[1] = 1, 6 // the shadow's weight is e⁻⁵, below 1/32
	for turn := range int64(8) {
		found := recall(turn + 1)
		at := slices.Index(found.IDs, 0)
		if at < 0 {
			t.Fatalf("the shadow was not found")
		}
		if out[2] != 2 { // the snapshot of entry 1, with the whole weight
			t.Errorf("h_kfe has %g of the live entry, want 2", out[2])
		}
		if e := entry(t, s, 0); !e.Soft || e.Last != 0 || e.Count != 0 {
			t.Errorf("weight %g below 1/32 touched the shadow: %+v", found.Weight[at], e)
		}
	}
	h[0] = 3 // e⁻³ is above
	recall(9)
	if e := entry(t, s, 0); e.Soft || e.Last != 9 {
		t.Errorf("weight above 1/32 left the flag: %+v", e)
	}
	// Idle ran through recalls of little weight: with evidence it is deleted.
	s = storeLibrary(t, c, shadow, plainEntry(dim, 1))
	t.Must(s.Accuse(0, 0, stores.Penalty))
	h[0] = 1
	for turn := range int64(8) {
		recall(turn + 1)
		t.Must(s.EndTurn(t.Context(), turn+1))
		if left := s.Len(); (left == 2) != (turn < 7) {
			t.Errorf("turn %d: %d entries", turn+1, left)
		}
	}
}

func kfeDelete(t *report) {
	const dim = 16
	deleted, cleared := 0, 0
	for i := range 16 {
		soft, idle, a, b := i&1 != 0, int64(7+i>>1&1), i&4 != 0, i&8 != 0
		var evidence stores.Evidence
		if a {
			evidence |= stores.Penalty
		}
		if b {
			evidence |= stores.Contradiction
		}
		want := soft && idle >= 8 && (a || b)
		if got := stores.Decide(soft, idle, evidence, 8) == stores.Deleted; got != want {
			t.Errorf("soft %v, idle %d, A %v, B %v: deleted %v", soft, idle, a, b, got)
		}
		if !soft && (a || b) {
			continue // evidence makes a shadow
		}
		s := storeLibrary(t, settings(t, 1, dim), plainEntry(dim, 0), plainEntry(dim, 1))
		if soft {
			t.Must(s.Shadow(0, 0))
		}
		if evidence != 0 {
			t.Must(s.Accuse(0, 0, evidence))
		}
		t.Must(s.EndTurn(t.Context(), idle))
		if (s.Len() == 1) != want || s.Library(0).Index().Len() != s.Len() {
			t.Errorf("soft %v, idle %d, A %v, B %v: %d entries, %d in the index", soft, idle, a, b, s.Len(), s.Library(0).Index().Len())
		}
		if want {
			deleted++
			continue
		}
		e := entry(t, s, 0)
		if flag := soft && idle < 8; e.Soft != flag {
			t.Errorf("soft %v, idle %d, A %v, B %v: a shadow %v", soft, idle, a, b, e.Soft)
		}
		if soft && !e.Soft {
			cleared++
		}
	}
	t.Figure("%d deleted, %d cleared", deleted, cleared)
}
