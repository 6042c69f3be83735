package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/store/faultfs"

	"atenia/internal/memory/timeline"
)

// layers returns n tensors of 100 bytes on the SSD and a graph of a kernel for
// each, in order.
func layers(n int) (tensors []tensor, g *Graph) {
	g = new(Graph)
	for i := range n {
		id := fmt.Sprint("w", i)
		tensors = append(tensors, tensor{id, memory.SSD, 100})
		g.AddTensors(Kernel{Name: fmt.Sprint("layer", i)}, []string{id}, []memory.Tier{memory.SSD})
	}
	return tensors, g
}

// limited returns a manager that rejects more than the limit.
func limited(t *testing.T, limit uint64, tensors ...tensor) *memory.Manager {
	t.Helper()
	m := memory.New(memory.Config{Dir: t.TempDir(), FS: faultfs.NoSync(), Budget: map[memory.Tier]uint64{memory.RAM: limit}})
	for _, x := range tensors {
		if _, _, err := m.Place(context.Background(), x.id, content(x.id, x.n), x.at); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// checker is the Compute of kernels that check their bytes and note their order.
func checker(t *testing.T, order *[]uint64) func(context.Context, *Node, [][]byte) error {
	return func(_ context.Context, n *Node, data [][]byte) error {
		*order = append(*order, n.ID)
		for i, id := range n.Tensors {
			if string(data[i]) != string(content(id, len(data[i]))) {
				t.Errorf("kernel %d gets %q for %s", n.ID, data[i], id)
			}
		}
		return nil
	}
}

// TestPagerTicks runs ten layers of which six fit, some ticks long, with real
// moves; testdata has what each tick moves.
func TestPagerTicks(t *testing.T) {
	for _, c := range []struct {
		name, about string
		ahead       int
	}{
		{"fewest_bytes", "Six of ten layers fit; nothing is read ahead.", 0},
		{"two_ahead", "Six of ten layers fit; each is read while the two before it are computed.", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			tensors, g := layers(10)
			m := limited(t, 600, tensors...)
			x := lane.New(lane.Config{Readers: 3})
			defer x.Close()
			var order []uint64
			p := Pager{Memory: m, Lanes: x, Limit: 600, Ahead: c.ahead, Compute: checker(t, &order)}
			var lines []string
			for range 4 {
				order = order[:0]
				plan, err := p.Tick(t.Context(), g, g)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, plan.String())
				if !slices.IsSorted(order) || len(order) != 10 {
					t.Errorf("computed %v", order)
				}
			}
			checkTimeline(t, c.about, lines)
		})
	}
}

// TestPagerAgainstPressure runs a graph that just fits, together with tensors that
// it does not use. Eviction by pressure evicts tensors of the graph in every tick,
// and the kernels fetch them again; the pager evicts the unused ones, once.
func TestPagerAgainstPressure(t *testing.T) {
	const ticks = 4
	tensors, g := layers(6)
	others := []tensor{{"x0", memory.RAM, 100}, {"x1", memory.RAM, 100}, {"x2", memory.RAM, 100}}
	m := testMemory(t, nil, append(tensors, others...)...)
	config := memory.DefaultOffload()
	config.Cooldown, config.MaxActions = 0, 3
	var lines timeline.Lines
	l := Loop{Graph: g, Timeline: timeline.NewTimeline(timeline.TakeTurns, &lines), Memory: m, Offload: memory.NewOffload(config)}
	if _, err := l.Run(t.Context(), slices.Repeat([]memory.Snapshot{at(0, .99)}, ticks)); err != nil {
		t.Fatal(err)
	}
	pulled := strings.Count(strings.Join(lines, "\n"), "RUN stream=SsdPrefetch")
	if want := 6 + 3*(ticks-1); pulled != want {
		t.Errorf("pressure makes the kernels read %d tensors, want %d", pulled, want)
	}

	m = limited(t, 600, append(others, tensors...)...)
	x := lane.New(lane.Config{})
	defer x.Close()
	var order []uint64
	p := Pager{Memory: m, Lanes: x, Limit: 600, Ahead: 1, Compute: checker(t, &order)}
	for tick := range ticks {
		plan, err := p.Tick(t.Context(), g, g)
		if err != nil {
			t.Fatal(err)
		}
		want := Paging{In: 600, Out: 300}
		if tick > 0 {
			want = Paging{Hits: 6}
		}
		if plan.In != want.In || plan.Out != want.Out || plan.Hits != want.Hits {
			t.Errorf("tick %d moves\n%v", tick, plan)
		}
	}
}

// TestPagerColder: tensors that neither tick needs are evicted before those that
// the next tick needs.
func TestPagerColder(t *testing.T) {
	tensors, g := layers(3)
	tensors = append(tensors, tensor{"old", memory.RAM, 50}, tensor{"older", memory.RAM, 150})
	m := limited(t, 400, tensors...)
	p := Pager{Memory: m, Limit: 400, Ahead: 2}
	plan, err := p.Schedule(g, g)
	if err != nil {
		t.Fatal(err)
	}
	checkTimeline(t, "Two tensors that nobody needs leave before any layer does.", []string{plan.String()})
	plan, err = p.Schedule(g, new(Graph))
	if err != nil || len(plan.Steps[2].Evict) != 1 || plan.Steps[2].Evict[0].Next != 0 {
		t.Errorf("before a tick that needs nothing: %v, %v", plan, err)
	}
}

// TestPagerFewest compares with an exhaustive search: no other choice of evictions
// reads less.
func TestPagerFewest(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		tensors, _ := layers(3 + r.IntN(3))
		room := 1 + r.IntN(3)
		g := new(Graph)
		var order []int
		for range 4 + r.IntN(7) {
			i := r.IntN(len(tensors))
			order = append(order, i)
			g.AddTensors(Kernel{}, []string{tensors[i].id}, make([]memory.Tier, 1))
		}
		m := testMemory(t, nil)
		for _, x := range tensors {
			m.Register(x.id, 100, memory.SSD)
		}
		plan, err := (&Pager{Memory: m, Limit: uint64(room) * 100}).Schedule(g, new(Graph))
		if err != nil {
			t.Fatal(err)
		}
		if want := fewest(order, 0, room); plan.In != uint64(want)*100 {
			t.Errorf("seed %d: %v with room for %d reads %d bytes, want %d00", seed, order, room, plan.In, want)
		}
	}
}

// fewest returns the least number of reads; in is the set of resident tensors.
func fewest(order []int, in uint, room int) int {
	if len(order) == 0 {
		return 0
	}
	bit := uint(1) << order[0]
	if in&bit != 0 {
		return fewest(order[1:], in, room)
	}
	if count(in) < room {
		return 1 + fewest(order[1:], in|bit, room)
	}
	best := len(order) + 1
	for v := uint(1); v <= in; v <<= 1 {
		if in&v != 0 {
			best = min(best, 1+fewest(order[1:], in&^v|bit, room))
		}
	}
	return best
}

func count(set uint) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// TestPagerRandom runs random graphs with tensors of many sizes through lanes
// while the manager enforces the limit: no move is rejected, and every kernel has
// its bytes.
func TestPagerRandom(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		var tensors []tensor
		for i := range 2 + r.IntN(12) {
			tensors = append(tensors, tensor{fmt.Sprint("t", i), memory.SSD, 1 + r.IntN(100)})
		}
		var graphs [3]Graph
		floor := uint64(1)
		for i := range graphs {
			for range r.IntN(12) {
				var ids []string
				var need uint64
				for range r.IntN(4) {
					x := tensors[r.IntN(len(tensors))]
					if !slices.Contains(ids, x.id) {
						need += uint64(x.n)
					}
					ids = append(ids, x.id)
				}
				floor = max(floor, need)
				graphs[i].AddTensors(Kernel{Name: "k"}, ids, make([]memory.Tier, len(ids)))
			}
		}
		limit := floor + uint64(r.IntN(100))
		m := limited(t, limit, tensors...)
		x := lane.New(lane.Config{Readers: 1 + r.IntN(4), Window: 2 + r.IntN(20)})
		var order []uint64
		p := Pager{Memory: m, Lanes: x, Limit: limit, Ahead: r.IntN(4), Compute: checker(t, &order)}
		for i := range 6 {
			plan, err := p.Tick(t.Context(), &graphs[i%3], &graphs[(i+1)%3])
			if err != nil {
				t.Fatalf("seed %d tick %d: %v\n%v", seed, i, err, plan)
			}
			if used := m.Ledger().RAM.Used; used > limit {
				t.Errorf("seed %d: %d bytes in RAM, the limit is %d", seed, used, limit)
			}
		}
		x.Close()
	}
}

// TestPagerFails checks errors that name tensors that do not fit or do not
// exist, and that the pager continues after a failed kernel.
func TestPagerFails(t *testing.T) {
	tensors, g := layers(3)
	x := lane.New(lane.Config{})
	defer x.Close()
	m := testMemory(t, nil, tensors...)
	p := Pager{Memory: m, Lanes: x, Limit: 99}
	_, err := p.Tick(t.Context(), g, g)
	f, ok := errors.AsType[*FloorError](err)
	if !ok || !errors.Is(err, ErrFloor) || *f != (FloorError{0, 100, 99}) || !strings.Contains(err.Error(), "kernel 0 needs 100 bytes") {
		t.Errorf("got %v", err)
	}
	var ghost Graph
	ghost.AddTensors(heavy, []string{"ghost"}, make([]memory.Tier, 1))
	if _, err := p.Tick(t.Context(), g, &ghost); err == nil || !strings.Contains(err.Error(), `"ghost" is not registered`) {
		t.Errorf("got %v", err)
	}
	p.Limit = 200
	stop := errors.New("not a number")
	p.Compute = func(_ context.Context, n *Node, _ [][]byte) error {
		if n.ID == 1 {
			return stop
		}
		return nil
	}
	if _, err := p.Tick(t.Context(), g, g); !errors.Is(err, stop) || !strings.HasPrefix(err.Error(), "layer1: ") {
		t.Errorf("got %v", err)
	}
	var order []uint64
	p.Compute = checker(t, &order)
	if _, err := p.Tick(t.Context(), g, g); err != nil || len(order) != 3 {
		t.Errorf("after an error %v, %v", order, err)
	}
}

func BenchmarkPlan(b *testing.B) {
	m := memory.New(memory.Config{})
	g := new(Graph)
	for i := range 300 {
		id := fmt.Sprint("w", i)
		m.Register(id, 100, memory.SSD)
		g.AddTensors(Kernel{}, []string{id}, make([]memory.Tier, 1))
	}
	p := Pager{Memory: m, Limit: 20000, Ahead: 2}
	for b.Loop() {
		p.Schedule(g, g)
	}
}
