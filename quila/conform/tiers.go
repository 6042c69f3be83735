package conform

// The state machine of levels, the index of cold blocks, managed memory.

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"atenia/internal/memory"
	"atenia/quila/internal/parked"
	"atenia/quila/internal/stores"
)

// noScore is for groups without limits.
func noScore(_ stores.Level, _ []*stores.Page, out []float64) { clear(out) }

// everyLevel are quotas of all five levels without limits.
func everyLevel() (q []stores.Quota) {
	for l := stores.L1; l <= stores.L5; l++ {
		q = append(q, stores.Quota{Level: l, Bytes: memory.NoQuota})
	}
	return q
}

func tierMove(t *report) {
	arrows := map[[2]stores.Level]bool{ // of the drawing in package tier
		{stores.L1, stores.L2}: true, {stores.L2, stores.L1}: true, {stores.L2, stores.L3}: true, {stores.L3, stores.L2}: true, {stores.L3, stores.L5}: true,
		{stores.L5, stores.L3}: true, {stores.L3, stores.L4}: true, {stores.L4, stores.L3}: true, {stores.L4, stores.L5}: true, {stores.L5, stores.L4}: true,
	}
	way := map[stores.Level][]stores.Level{ // how a page comes to a level from L3
		stores.L1: {stores.L2, stores.L1}, stores.L2: {stores.L2}, stores.L3: nil, stores.L4: {stores.L4}, stores.L5: {stores.L5},
	}
	m := stores.NewMemory(stores.TierConfig{Dir: t.Dir()})
	g, err := m.Group("moves", stores.KFEHot, everyLevel(), noScore)
	t.Must(err)
	const size = 10_000
	want := make([]byte, size)
	fillBytes(want, storeSource(2))
	legal, illegal := 0, 0
	for from := stores.L1; from <= stores.L5; from++ {
		for to := stores.L1; to <= stores.L5; to++ {
			p, err := g.Page("p", size, stores.L3)
			t.Must(err)
			copy(p.Bytes(), want)
			for _, l := range way[from] {
				t.Must(g.Move(t.Context(), p, l))
			}
			err = g.Move(t.Context(), p, to)
			switch {
			case from == to:
				if err != nil {
					t.Errorf("%v to itself: %v", from, err)
				}
			case arrows[[2]stores.Level{from, to}]:
				legal++
				if err != nil || p.Level() != to {
					t.Errorf("%v to %v: %v, it is in %v", from, to, err, p.Level())
				}
			default:
				illegal++
				if !errors.Is(err, stores.ErrTransition) || p.Level() != from {
					t.Errorf("%v to %v: %v, it is in %v", from, to, err, p.Level())
				}
			}
			if p.Level() == stores.L5 {
				if p.Bytes() != nil {
					t.Errorf("a page in L5 has RAM")
				}
				t.Must(g.Move(t.Context(), p, stores.L3))
			}
			if !bytes.Equal(p.Bytes(), want) {
				t.Errorf("%v to %v changed bytes", from, to)
			}
			t.Must(g.Remove(p))
		}
	}
	p, err := g.Page("round", size, stores.L2)
	t.Must(err)
	copy(p.Bytes(), want)
	for _, l := range []stores.Level{stores.L3, stores.L5, stores.L3, stores.L2} {
		t.Must(g.Move(t.Context(), p, l))
		r, _ := m.Residence(p.ID())
		if inFile := r.Tier == memory.SSD; inFile != (l == stores.L5) {
			t.Errorf("in %v the engine counts it in %v", l, r.Tier)
		}
		if n := g.Used(l); n != size {
			t.Errorf("%v has %d bytes of a page of %d", l, n, size)
		}
	}
	if !bytes.Equal(p.Bytes(), want) {
		t.Errorf("the round through files changed bytes")
	}
	t.Must(m.Close())
	t.Figure("%d legal moves, %d refused", legal, illegal)
}

func coldIndex(t *report) {
	const page, length = 256, 96
	entries := 100_000
	if t.Brief() {
		entries /= 5
	}
	dir, r := t.Dir(), storeSource(3)
	f, err := stores.OpenCold(stores.ColdConfig{Dir: dir})
	t.Must(err)
	key := func(i int) uint64 { return uint64(i%8)<<32 | uint64(i) }
	raw := make([]byte, page*length)
	sample := map[uint64][]byte{}
	for at := 0; at < entries; at += page {
		n := min(page, entries-at)
		fillBytes(raw, r)
		recs := make([]stores.ColdRecord, n)
		for i := range recs {
			recs[i] = stores.ColdRecord{Key: key(at + i), Offset: uint32(i * length), Length: length}
		}
		i := r.IntN(n)
		sample[key(at+i)] = bytes.Clone(raw[i*length : (i+1)*length])
		t.Must(f.Put(uint64(at/page), recs, raw[:n*length]))
	}
	check := func(when string, f *stores.Folder) {
		before := f.Stats().Reads
		for k, want := range sample {
			if got, err := f.Get(k); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: entry %#x: %v", when, k, err)
			}
		}
		if reads := f.Stats().Reads - before; reads != int64(len(sample)) {
			t.Errorf("%s: %d blocks read for %d entries", when, reads, len(sample))
		}
		if _, err := f.Get(1 << 60); !errors.Is(err, stores.ErrNotFound) {
			t.Errorf("%s: an unknown key gives %v", when, err)
		}
	}
	check("written", f)
	t.Must(f.Close())
	index := filepath.Join(dir, "index")
	good, err := os.ReadFile(index)
	t.Must(err)
	for _, x := range []struct {
		what    string
		index   []byte
		rebuilt bool
	}{{"read again", good, false}, {"index deleted", nil, true}, {"index cut", good[:len(good)-1], true}, {"index damaged", flip(good, len(good)/2), true}, {"index of nothing", flip(good, 8), true}} {
		t.Must(os.RemoveAll(index))
		if x.index != nil {
			t.Must(os.WriteFile(index, x.index, 0o666))
		}
		f, err := stores.OpenCold(stores.ColdConfig{Dir: dir})
		t.Must(err)
		if s := f.Stats(); s.Rebuilt != x.rebuilt || len(s.Damaged) > 0 {
			t.Errorf("%s: rebuilt %v, damaged %v", x.what, s.Rebuilt, s.Damaged)
		}
		check(x.what, f)
		t.Must(f.Close())
	}
	t.Figure("%d blocks, 1 read an entry, index of %d KiB", (entries+page-1)/page, len(good)>>10)
}

func managedMemory(t *report) {
	device := &recorder{}
	m := stores.NewMemory(stores.TierConfig{Device: device, Dir: t.Dir()})
	s, err := stores.NewKFE(settings(t, 2, 16), stores.KFEOptions{Memory: m, Cold: true})
	t.Must(err)
	t.Must(s.Insert(0, plainEntry(16, 0)))
	q, err := parked.NewQueue[float32](parked.QueueConfig{Dim: 16, Hot: 4, Cold: 4}, m, "thinker_0")
	t.Must(err)
	for _, tag := range []stores.Tag{stores.State, stores.Param} {
		g, err := m.Group(string(tag), tag, everyLevel()[1:3], noScore)
		t.Must(err)
		_, err = g.Page("0", 4096, stores.L2)
		t.Must(err)
	}
	seen := map[stores.Tag]int{}
	for _, c := range device.calls {
		if c.what != "alloc" {
			continue
		}
		seen[c.tag]++
		want := c.tag != stores.WMQCold
		if c.managed != want {
			t.Errorf("%s, %s: managed is %v", c.page, c.tag, c.managed)
		}
	}
	for _, tag := range []stores.Tag{stores.State, stores.Param, stores.KFEHot, stores.WMQHot} {
		if seen[tag] == 0 {
			t.Errorf("no allocation of tag %s", tag)
		}
	}
	// An entry that comes back from L5 is allocated anew, managed again.
	t.Must(s.SetQuota(t.Context(), stores.L2, 0))
	t.Must(s.SetQuota(t.Context(), stores.L3, 0))
	before := len(device.calls)
	h := axis(16, 0)
	stores.NewKFEReader[float32](s).Recall(0, 0, h, make([]float32, 16), nil)
	t.Must(s.SetQuota(t.Context(), stores.L3, memory.NoQuota))
	t.Must(s.Commit(t.Context(), 1))
	again := false
	for _, c := range device.calls[before:] {
		again = again || c.what == "alloc" && c.tag == stores.KFEHot && c.managed
	}
	if !again {
		t.Errorf("an entry from L5 is not in managed memory")
	}
	t.Must(q.Close())
	t.Must(m.Close())
	t.Figure("%d tags managed", len(seen)-1)
}
