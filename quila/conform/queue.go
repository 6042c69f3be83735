package conform

// Working-memory queues.

import (
	"atenia/quila/internal/parked"
	"atenia/quila/internal/stores"
	"cmp"
	"errors"
	"math"
	"runtime"
	"slices"
)

func queue(t *report, c parked.QueueConfig) *parked.Queue[float32] {
	q, err := parked.NewQueue[float32](c, stores.NewMemory(stores.TierConfig{}), "q")
	t.Must(err)
	return q
}

// zones returns the ids of a queue's entries by zone, in the order of age.
func zones(q *parked.Queue[float32]) map[string][]uint64 {
	out := map[string][]uint64{}
	for i := range q.Items() {
		out[i.Zone] = append(out[i.Zone], i.ID)
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out
}

func wmqCapacity(t *report) {
	const dim, hot, deep = 16, 512, 4096
	q := queue(t, parked.QueueConfig{Dim: dim, Hot: hot, Cold: deep, Enqueue: .3, Dealloc: 1})
	defer q.Close()
	if r, err := q.Offer(axis(dim, 0), 0, 0, 0); err != nil || r != 0 || len(zones(q)) != 0 {
		t.Errorf("an empty queue admits: relation %g, %v", r, err)
	}
	r := source(4)
	type put struct {
		content    []float32
		relation   float32
		trajectory uint32
	}
	var all []put
	seed := axis(dim, 0)
	t.Must(q.Seed(seed, 0))
	all = append(all, put{seed, 1, 0})
	for len(all) < hot {
		v := normals(r, dim)
		for i := range v {
			v[i] *= .3
		}
		v[0] += 2
		trajectory := uint32(len(all) % 3)
		relation, err := q.Offer(v, 1, 0, trajectory)
		t.Must(err)
		if relation > .3 {
			all = append(all, put{v, relation, trajectory})
		}
	}
	if z := zones(q); len(z["hot"]) != hot || len(z["cold"]) != 0 {
		t.Fatalf("%d hot and %d cold after %d", len(z["hot"]), len(z["cold"]), hot)
	}
	lowest := 0
	for i, p := range all {
		if p.relation < all[lowest].relation {
			lowest = i
		}
	}
	near := slices.Clone(seed)
	near[1] = .01
	relation, err := q.Offer(near, 1, 0, 0)
	t.Must(err)
	all = append(all, put{near, relation, 0})
	if z := zones(q); !slices.Equal(z["cold"], []uint64{uint64(lowest)}) {
		t.Errorf("entry %d went down, %d has the lowest relation", z["cold"], lowest)
	}
	state := normals(r, dim)
	want := []uint64{}
	for i, p := range all {
		if p.trajectory != 2 {
			want = append(want, uint64(i))
		}
	}
	dots := func(i uint64) (s float64) {
		for j, x := range all[i].content {
			s += float64(x) * float64(state[j])
		}
		return s
	}
	slices.SortStableFunc(want, func(a, b uint64) int { return cmp.Compare(dots(b), dots(a)) })
	hits, err := q.Retrieve(nil, state, 8, 0, 1)
	t.Must(err)
	got := []uint64{}
	for _, h := range hits {
		got = append(got, h.ID)
	}
	if !slices.Equal(got, want[:8]) {
		t.Errorf("retrieved %v, brute force %v", got, want[:8])
	}
	for len(zones(q)["cold"]) < deep {
		t.Must(q.Seed(near, 0))
	}
	oldest := zones(q)
	for range 10 {
		t.Must(q.Seed(near, 0))
	}
	z := zones(q)
	if len(z["hot"]) != hot || len(z["cold"]) != deep {
		t.Errorf("%d hot and %d cold, want %d and %d", len(z["hot"]), len(z["cold"]), hot, deep)
	}
	// All that came last have relation 1: the oldest of them go.
	if first := z["hot"][0]; z["hot"][hot-1]-first != hot-1 {
		t.Errorf("of equal relations %d stays in the hot zone, %d is the newest", first, z["hot"][hot-1])
	}
	if slices.Equal(z["cold"], oldest["cold"]) {
		t.Errorf("a full cold zone dropped nothing")
	}
	if _, err := q.Offer([]float32{1}, 0, 0, 0); !errors.Is(err, parked.ErrQueueShape) {
		t.Errorf("a content of one dimension: %v", err)
	}
	bad := axis(dim, 0)
	bad[3] = float32(math.NaN())
	if err := q.Seed(bad, 0); !errors.Is(err, parked.ErrQueueNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	t.Figure("%d + %d entries", len(z["hot"]), len(z["cold"]))
}

func wmqStage(t *report) {
	const dim = 8
	q := queue(t, parked.QueueConfig{Dim: dim, Hot: 3, Cold: 8, Enqueue: .3, Dealloc: 1})
	defer q.Close()
	t.Must(q.Seed(axis(dim, 0), 0)) // id 0, stage 0
	for i := range 6 {              // ids 1 to 6, stages 1 and 2, utilities ½ and 1½
		v := axis(dim, 0)
		v[1] = .1 * float32(i)
		_, err := q.Offer(v, 1+i%2, .5+float64(i/2%2), 0)
		t.Must(err)
	}
	all := zones(q)
	if len(all["hot"]) != 3 || len(all["cold"]) != 4 {
		t.Fatalf("zones %v", all)
	}
	q.StageEnd(1)
	z := zones(q)
	left := append(slices.Clone(z["hot"]), z["cold"]...)
	slices.Sort(left)
	if !slices.Equal(z["buffer"], []uint64{1, 3, 5}) || !slices.Equal(left, []uint64{0, 2, 4, 6}) {
		t.Errorf("the end of stage 1 leaves %v", z)
	}
	q.TurnEnd()
	if z := zones(q); !slices.Equal(z["buffer"], []uint64{3}) {
		t.Errorf("after a turn the buffer has %v, entry 3 alone has utility above 1", z["buffer"])
	}
	q.TurnEnd()
	if z := zones(q); len(z["buffer"]) != 0 {
		t.Errorf("after two turns the buffer has %v", z["buffer"])
	}
}

func stageQueue(t *report) {
	const dim, stages = 16, 100_000
	threads := runtime.NumGoroutine()
	q := queue(t, parked.QueueConfig{Dim: dim, Hot: 16, Cold: 64, Enqueue: .3, Dealloc: 1})
	defer q.Close()
	seed := axis(dim, 0)
	var first, last runtime.MemStats
	survived := 0
	for stage := range stages {
		if stage == stages/10 {
			runtime.GC()
			runtime.ReadMemStats(&first)
		}
		t.Must(q.Seed(seed, 0))
		_, err := q.Offer(seed, stage, float64(stage%3), 0)
		t.Must(err)
		q.StageEnd(stage)
		q.StageEnd(0)
		if stage%7 == 0 {
			q.TurnEnd()
		}
		survived = max(survived, len(zonesOf(q)))
	}
	runtime.GC()
	runtime.ReadMemStats(&last)
	if n := runtime.NumGoroutine(); n > threads {
		t.Errorf("%d goroutines more", n-threads)
	}
	growth := float64(last.HeapAlloc) - float64(first.HeapAlloc)
	t.Within("bytes of growth", growth, 1<<20)
	if survived > 7*2+3*7 {
		t.Errorf("%d entries at once", survived)
	}
	t.Figure("%d stages, at most %d entries, %.0f KiB of growth", stages, survived, growth/1024)
}

// zonesOf lists the entries of all zones, without allocating a map each time.
func zonesOf(q *parked.Queue[float32]) (ids []uint64) {
	for i := range q.Items() {
		ids = append(ids, i.ID)
	}
	return ids
}
