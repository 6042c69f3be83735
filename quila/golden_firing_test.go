package quila_test

import (
	"math"
	"slices"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

func init() { topics["firing"] = goldenFiring }

// A goldenRun is who fires over some ticks.
type goldenRun struct {
	N             int
	Cap           float64
	Offsets       []int
	Conf, Utility [][]float32
	Boundary      [][]int
	Ticks         []struct {
		Eligible, Fired, Inbox []int
		Waited, Refractory     []int32
	}
}

func goldenFiring(t *testing.T, path string) {
	var file struct {
		Runs   []goldenRun
		Philox []struct {
			Key          [2]uint32
			Counter, Out [4]uint32
		}
		Draws []struct {
			Seed, Tick uint64
			Neuron     uint32
			Site       weights.Site
			Words      []uint32
			Normals    []float64
		}
		Counts []struct {
			Conf       float64
			Refractory int32
			DRC        int `json:"drc_n"`
		}
		Offsets []struct {
			N, Deg  int
			Offsets []int
		} `json:"edge_offsets"`
		Pos []uint16
	}
	golden.JSON(t, path, &file)
	if len(file.Runs) == 0 || len(file.Philox) == 0 || len(file.Draws) == 0 || len(file.Counts) == 0 || len(file.Offsets) == 0 || len(file.Pos) == 0 {
		t.Fatal("a part of the file is missing")
	}
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Runs {
		fires(t, c, &r)
	}
	for _, p := range file.Philox {
		if got := weights.Philox(p.Key, p.Counter); got != p.Out {
			t.Errorf("philox of %x and %x is %x, want %x", p.Key, p.Counter, got, p.Out)
		}
	}
	for _, d := range file.Draws {
		s := weights.Stream{Seed: d.Seed, Neuron: d.Neuron, Tick: d.Tick, Site: d.Site}
		if got := s.Words(len(d.Words)); !slices.Equal(got, d.Words) {
			t.Errorf("words of %+v are %v, want %v", s, got, d.Words)
		}
		x := make([]float64, len(d.Normals))
		s.Normal(x)
		for i := range x {
			if math.Abs(x[i]-d.Normals[i]) > 1e-12 {
				t.Errorf("normal %d of %+v is %.17g, want %.17g", i, s, x[i], d.Normals[i])
			}
		}
	}
	for _, n := range file.Counts {
		if got := neuron.Refractory(&c, float32(n.Conf)); got != n.Refractory {
			t.Errorf("confidence %v rests %d ticks, want %d", n.Conf, got, n.Refractory)
		}
		if got := neuron.Iterations(float32(n.Conf)); got != n.DRC {
			t.Errorf("confidence %v iterates %d times, want %d", n.Conf, got, n.DRC)
		}
	}
	for _, o := range file.Offsets {
		if got := weights.Offsets(o.N, o.Deg); !slices.Equal(got, o.Offsets) {
			t.Errorf("offsets of %d neurons and degree %d are %v, want %v", o.N, o.Deg, got, o.Offsets)
		}
	}
	for q, want := range file.Pos {
		if got := weights.Place(&c, q); got != want {
			t.Errorf("place %d is %#x, want %#x", q, got, want)
		}
	}
}

// fires replays a run with the schedule that sessions have.
func fires(t *testing.T, c config.Config, r *goldenRun) {
	t.Helper()
	c.N, c.ActiveCap = r.N, r.Cap
	s := grid.NewSchedule(&c)
	rests := make([]int32, r.N)
	for i := range rests {
		rests[i] = int32(i % int(c.RefBase+1))
	}
	indices := func(n int, in func(i int) bool) []int {
		out := []int{}
		for i := range n {
			if in(i) {
				out = append(out, i)
			}
		}
		return out
	}
	for k, want := range r.Ticks {
		tick := uint64(k + 1)
		for _, n := range r.Boundary[k] {
			s.Arrive(n, tick)
		}
		if !slices.Equal(s.Waited, want.Waited) {
			t.Fatalf("N %d, tick %d: waited %v, want %v", r.N, k, s.Waited, want.Waited)
		}
		fired := slices.Clone(s.Choose(rests, r.Utility[k]))
		if got := indices(r.N, func(i int) bool { return s.Eligible[i] }); !slices.Equal(got, want.Eligible) {
			t.Fatalf("N %d, tick %d: %v are eligible, want %v", r.N, k, got, want.Eligible)
		}
		if got := indices(r.N, func(i int) bool { return slices.Contains(fired, int32(i)) }); !slices.Equal(got, want.Fired) {
			t.Fatalf("N %d, tick %d: %v fire, want %v", r.N, k, got, want.Fired)
		}
		for i := range rests {
			rests[i] = max(rests[i]-1, 0)
		}
		for _, i := range fired {
			s.Read(int(i))
			rests[i] = neuron.Refractory(&c, r.Conf[k][i])
		}
		for _, i := range fired {
			for _, o := range r.Offsets {
				s.Arrive((int(i)+o)%r.N, tick+1)
			}
		}
		if !slices.Equal(rests, want.Refractory) {
			t.Fatalf("N %d, tick %d: refractory %v, want %v", r.N, k, rests, want.Refractory)
		}
		if got := indices(r.N, func(i int) bool { return s.Since[i] != 0 }); !slices.Equal(got, want.Inbox) {
			t.Fatalf("N %d, tick %d: mail of %v, want %v", r.N, k, got, want.Inbox)
		}
	}
}
