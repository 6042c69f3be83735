package conform

// What goes down and what comes up.

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/memory"
	"atenia/quila/internal/stores"
)

// A tiered is a store whose pages have one entry each, with a folder and a trace.
type tiered struct {
	*stores.KFE
	device *recorder
	steps  []stores.Step
	dir    string
	memory *stores.Memory
}

const tieredDim = 16

// newTiered makes a store of so many neurons with one entry each, in L2.
func newTiered(t *report, neurons int) *tiered {
	x := &tiered{device: &recorder{}, dir: t.Dir()}
	x.memory = stores.NewMemory(stores.TierConfig{Dir: x.dir, Device: x.device, Moved: func(s stores.Step) { x.steps = append(x.steps, s) }})
	var err error
	x.KFE, err = stores.NewKFE(settings(t, neurons, tieredDim), stores.KFEOptions{Memory: x.memory, Cold: true})
	t.Must(err)
	for n := range neurons {
		e := plainEntry(tieredDim, n)
		e.ID = uint64(n) << 32
		t.Must(x.Insert(n, e))
	}
	return x
}

// signals gives every neuron utility n, and nothing else that differs.
func (x *tiered) rank(t *report, neurons int) {
	u, zero := make([]float32, neurons), make([]float32, neurons)
	for n := range u {
		u[n] = float32((n*5)%neurons) / float32(neurons)
	}
	t.Must(x.SetSignals(u, zero, zero))
}

// order returns the neurons whose pages went from one level to another, in order.
func (x *tiered) order(from, to stores.Level) (neurons []int) {
	for _, s := range x.steps {
		if s.From == from && s.To == to {
			neurons = append(neurons, int(filepath.Base(s.Page)[0]-'0'))
		}
	}
	return neurons
}

func evictScore(t *report) {
	// Three entries by hand: utility .1 .5 .9, scan weight 0 1 .5, turns since the
	// last recall 0 1000 2000, trace equal.
	f := make([]float64, 3*stores.Terms)
	stores.Features(f, []float64{.1, .5, .9}, []float64{0, 1, .5}, []int64{0, 1000, 2000}, []float64{2, 2, 2}, .001)
	middle := (math.Exp(-1) - math.Exp(-2)) / (1 - math.Exp(-2))
	want := []float64{0*.4 + 0*.2 + 1*.2 + .5*.2, .5*.4 + 1*.2 + middle*.2 + .5*.2, 1*.4 + .5*.2 + 0*.2 + .5*.2}
	w := stores.KFEWeights{.4, .2, .2, .2}
	var worst float64
	for i := range want {
		worst = max(worst, math.Abs(w.Score(f[i*stores.Terms:])-want[i]))
	}
	t.Within("difference of scores", worst, 1e-12)
	const n = 6
	x := newTiered(t, n)
	if x.Weights() != w {
		t.Errorf("the first weights are %v", x.Weights())
	}
	x.rank(t, n)
	t.Must(x.SetQuota(t.Context(), stores.L2, 0))
	lowest := []int{0, 5, 4, 3, 2, 1} // n·5 mod 6, ascending
	if got := x.order(stores.L2, stores.L3); !slices.Equal(got, lowest) {
		t.Errorf("evicted %v, want %v", got, lowest)
	}
	t.Figure("scores to %.1e", worst)
}

func evictLearn(t *report) {
	const n = 4
	for _, training := range []bool{true, false} {
		x := newTiered(t, n)
		x.Learn(training)
		x.rank(t, n) // 0, 1, 2, 3 of 4 by 5n mod 4
		t.Must(x.SetQuota(t.Context(), stores.L2, 0))
		t.Must(x.SetQuota(t.Context(), stores.L3, (n-1)*storePageBytes(tieredDim)))
		if l, _ := x.Library(0).Level(0); l != stores.L5 {
			t.Fatalf("neuron 0 has the lowest score and is in %v", l)
		}
		before := x.Weights()
		h, out := axis(tieredDim, 0), make([]float32, tieredDim)
		stores.NewKFEReader[float32](x.KFE).Recall(0, 0, h, out, nil)
		t.Must(x.Commit(t.Context(), 3))
		got := x.Weights()
		if !training {
			if got != before {
				t.Errorf("inference moved the weights to %v", got)
			}
			continue
		}
		// Features of the evicted: utility 0, the others ½; of those kept: mean of
		// ⅓, ⅔, 1 and ½.
		want, sum := stores.KFEWeights{.4 + .01*(0-2./3), .2, .2, .2}, 1-.01*2./3
		var worst, total float64
		for i := range want {
			worst = max(worst, math.Abs(got[i]-want[i]/sum))
			total += got[i]
			if got[i] < 0 {
				t.Errorf("weight %d is %g", i, got[i])
			}
		}
		t.Within("difference of weights", worst, 1e-6)
		t.Within("difference of their sum from 1", math.Abs(total-1), 1e-12)
		if c := x.Counts(); c.Misses != 1 || c.Learned != 1 {
			t.Errorf("%d misses, learned from %d; want 1", c.Misses, c.Learned)
		}
		for range 1000 { // far misses do not drive a weight below 0
			got.Learn([stores.Terms]float64{0, 1, 0, 1}, [stores.Terms]float64{1, 0, 1, 0}, .01)
		}
		total = 0
		for _, v := range got {
			total += v
			if v < 0 {
				t.Errorf("weights %v", got)
			}
		}
		t.Within("difference of their sum from 1", math.Abs(total-1), 1e-9)
	}
}

func evictCascade(t *report) {
	const n = 6
	x := newTiered(t, n)
	x.rank(t, n)
	lowest := []int{0, 5, 4, 3, 2, 1}
	t.Must(x.SetQuota(t.Context(), stores.L2, 2*storePageBytes(tieredDim)))
	if got := x.order(stores.L2, stores.L3); !slices.Equal(got, lowest[:4]) {
		t.Errorf("L2 gave up %v, want %v", got, lowest[:4])
	}
	for _, s := range x.steps {
		if !x.device.has(storeCall{what: "advise", page: s.Page, advice: stores.PreferCPU}) {
			t.Errorf("no advice for %s, which left L2", s.Page)
		}
	}
	t.Must(x.SetQuota(t.Context(), stores.L3, 1*storePageBytes(tieredDim)))
	if got := x.order(stores.L3, stores.L5); !slices.Equal(got, lowest[:3]) {
		t.Errorf("L3 gave up %v, want %v", got, lowest[:3])
	}
	files, err := filepath.Glob(filepath.Join(x.dir, "kfe", "*.zst"))
	t.Must(err)
	for _, path := range files {
		b, err := os.ReadFile(path)
		t.Must(err)
		if !bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			t.Errorf("%s is no zstd frame", filepath.Base(path))
		}
	}
	if len(files) != 3 {
		t.Errorf("%d blocks in L5, want 3", len(files))
	}
	if c := x.Counts(); c.Flagged != 0 {
		t.Errorf("%d shadows before L5 is full", c.Flagged)
	}
	t.Must(x.SetQuota(t.Context(), stores.L5, 1*storePageBytes(tieredDim)))
	flagged := []int{}
	for i := range n {
		e, err := x.Library(i).Get(uint64(i) << 32)
		t.Must(err)
		if e.Soft {
			flagged = append(flagged, i)
		}
		if got := e.Snapshot[0]; got != float32(i+1) {
			t.Errorf("entry %d has %g, not what was put", i, got)
		}
	}
	// In L5 utilities are 0, 1/6 and 2/6: the lowest scores 0·.4 + ½·.6 = .3, above
	// .05, so nothing is flagged by terms that are all equal.
	if len(flagged) != 0 {
		t.Errorf("flagged %v with scores of at least .3", flagged)
	}
	t.Must(x.SetWeights(stores.KFEWeights{1, 0, 0, 0}))
	t.Must(x.SetQuota(t.Context(), stores.L5, 1*storePageBytes(tieredDim)))
	if e, err := x.Library(0).Get(0); err != nil || !e.Soft {
		t.Errorf("the entry of score 0 is no shadow in a full L5: %v", err)
	}
	if c := x.Counts(); c.Flagged != 1 || x.Len() != n {
		t.Errorf("%d flagged, %d entries; want 1 and %d: nothing is deleted at once", c.Flagged, x.Len(), n)
	}
	t.Figure("%d to L3, %d to L5, %d flagged", 4, 3, x.Counts().Flagged)
}

func promote(t *report) {
	const n = 3
	x := newTiered(t, n)
	x.rank(t, n)
	t.Must(x.SetQuota(t.Context(), stores.L2, 0))
	t.Must(x.SetQuota(t.Context(), stores.L3, 0))
	h, out := axis(tieredDim, 1), make([]float32, tieredDim)
	r := stores.NewKFEReader[float32](x.KFE)
	level := func() stores.Level { l, _ := x.Library(1).Level(1 << 32); return l }
	if level() != stores.L5 {
		t.Fatalf("entry is in %v", level())
	}
	t.Must(x.SetQuota(t.Context(), stores.L2, memory.NoQuota))
	t.Must(x.SetQuota(t.Context(), stores.L3, memory.NoQuota))
	page := "kfe/1.0"
	for hit := int64(1); hit <= 5; hit++ {
		r.Recall(1, 0, h, out, nil)
		if out[3] == 0 {
			t.Errorf("hit %d: a cold entry adds nothing", hit)
		}
		t.Must(x.Commit(t.Context(), 3*hit))
		want := stores.L3
		if hit > 4 {
			want = stores.L2
		}
		if level() != want {
			t.Errorf("after hit %d it is in %v, want %v", hit, level(), want)
		}
	}
	if e, err := x.Library(1).Get(1 << 32); err != nil || e.Count != 5 || e.Last != 15 {
		t.Errorf("%+v, %v: want 5 recalls, the last in turn 15", e, err)
	}
	if !x.device.has(storeCall{what: "prefetch", page: page, level: stores.L2}) {
		t.Errorf("no prefetch to L2")
	}
	at := slices.Index(x.device.calls, storeCall{what: "prefetch", page: page, level: stores.L2})
	for _, a := range []stores.Advice{stores.PreferDevice, stores.AccessedBy} {
		if !slices.Contains(x.device.calls[max(at, 0):], storeCall{what: "advise", page: page, advice: a}) {
			t.Errorf("no advice %v with the prefetch", a)
		}
	}
	c := x.Counts()
	if c.Misses != 1 || c.Loaded != 1 || c.Promoted != 1 {
		t.Errorf("%d misses, %d loaded, %d promoted; want 1 each", c.Misses, c.Loaded, c.Promoted)
	}
	// Five hits that are further apart than the window do not raise it.
	y := newTiered(t, n)
	y.rank(t, n)
	t.Must(y.SetQuota(t.Context(), stores.L2, 0))
	t.Must(y.SetQuota(t.Context(), stores.L2, memory.NoQuota))
	slow := stores.NewKFEReader[float32](y.KFE)
	for hit := int64(1); hit <= 5; hit++ {
		slow.Recall(1, 0, h, out, nil)
		t.Must(y.Commit(t.Context(), 4*hit))
	}
	if l, _ := y.Library(1).Level(1 << 32); l != stores.L3 {
		t.Errorf("5 hits in 17 turns: it is in %v, want L3", l)
	}
	t.Figure("%d load, %d promotion", c.Loaded, c.Promoted)
}
