package flow_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"

	"atenia/internal/golden/await"
	"atenia/internal/spelling"
)

// longPlan has holds, a prefill, fan-out, a short feedback, modulation and
// nodes with memory.
const longPlan = `x Input channels=2; c Input; b Biquad f0=1200 q=3; e Envelope; g Gain gain=0.8; m Mix inputs=3; s SVF kind=bandpass f0=800; f Gain gain=-0.4; w WaveShaper drive=1.5; o Probe; p Probe;
	x -> b; b -> m.in0; b -> e delay_frames=21; c -> g.gain mode=mul scale=0.5; x -> g delay_frames=100; g -> m.in1; m -> f; f -> m.in2 delay_frames=13;
	m -> s delay_frames=40 delay_kind=prefill; s -> w; w -> o; e -> p`

func longInputs[F node.Float](frames int) map[string]node.Tensor[F] {
	r := rand.New(rand.NewPCG(7, 7))
	return map[string]node.Tensor[F]{"x": noise[F](r, 1, 2, frames), "c": noise[F](r, 1, 1, frames)}
}

// digest is a hash of the bits of outputs or of gradients.
func digest[F node.Float](out map[string]node.Tensor[F], params []flow.ParamGrad) [32]byte {
	h := sha256.New()
	put := func(v float64) { binary.Write(h, binary.LittleEndian, math.Float64bits(v)) }
	for _, name := range slices.Sorted(maps.Keys(out)) {
		for _, v := range out[name].Data {
			put(float64(v))
		}
	}
	for _, p := range params {
		for _, v := range p.Value.Data {
			put(v)
		}
	}
	return [32]byte(h.Sum(nil))
}

// weights is a gradient for every probe.
func (r trip[F]) weights() map[string]node.Tensor[F] {
	z, rnd := map[string]node.Tensor[F]{}, rand.New(rand.NewPCG(9, 9))
	for _, name := range slices.Sorted(maps.Keys(r.out)) {
		y := r.out[name]
		z[name] = noise[F](rnd, y.B, y.C, y.N)
	}
	return z
}

// TestSnapshots is acceptance A47: gradients do not depend on the number of
// snapshots, and the peak of memory has a minimum between few and many.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	fromSnapshots[float64](t)
	fromSnapshots[float32](t)
}

func fromSnapshots[F node.Float](t *testing.T) {
	var want [32]byte
	var heat flow.Metrics
	peak := map[int]int64{}
	for _, every := range []int{1, 4, 8, 64, 3, 100, flow.EverySqrt} {
		r := there(t, sketch(t, longPlan), flow.Options{BlockFrames: 32}, flow.Recording{Every: every}, longInputs[F](64*32), 64)
		for range 2 { // a second sweep over the same record
			g := r.back(t, r.weights())
			got := digest(g.Inputs, g.Params)
			if every == 1 {
				want = got
			}
			if got != want {
				t.Errorf("%T: every %d blocks: other gradients", F(0), every)
			}
			peak[every] = g.Report.PeakBytes()
			if every == 4 && g.Report.Recomputed != int(r.Blocks()) {
				t.Errorf("%d of %d blocks were run again", g.Report.Recomputed, r.Blocks())
			}
			if every == flow.EverySqrt && (g.Report.Every < 4 || g.Report.Every > 16) {
				t.Errorf("%d blocks between snapshots of %d", g.Report.Every, r.Blocks())
			}
		}
		if m := r.Metrics(); every == 1 {
			heat = m
		} else if m.Nodes[0].Calls != heat.Nodes[0].Calls {
			t.Errorf("every %d: calls %v, want %v: blocks run again were counted", every, m.Nodes[0].Calls, heat.Nodes[0].Calls)
		}
	}
	if !(peak[1] > peak[4] && peak[4] > peak[8] && peak[8] < peak[64]) {
		t.Errorf("peak bytes by blocks between snapshots: %v, want a fall and a rise", peak)
	}
	if !(peak[flow.EverySqrt] < peak[1]) {
		t.Errorf("peak bytes by blocks between snapshots: %v", peak)
	}
}

// TestSlots checks gradients and costs under a limit of snapshots: fewer of them
// take less memory and more runs.
func TestSlots(t *testing.T) {
	t.Parallel()
	var want [32]byte
	last := flow.SweepReport{Recomputed: 1 << 30}
	for _, slots := range []int{0, 1, 2, 3, 6, 100} {
		r := there(t, sketch(t, longPlan), flow.Options{BlockFrames: 32}, flow.Recording{Slots: slots}, longInputs[float32](40*32), 40)
		g := r.back(t, r.weights())
		got := digest(g.Inputs, g.Params)
		if slots == 0 {
			want = got
			continue
		}
		if got != want {
			t.Errorf("%d slots: other gradients", slots)
		}
		if g.Report.Recomputed >= last.Recomputed || g.Report.SnapshotBytes <= last.SnapshotBytes {
			t.Errorf("%d slots: %d blocks run, %d bytes of snapshots; with fewer %d and %d", slots, g.Report.Recomputed, g.Report.SnapshotBytes, last.Recomputed, last.SnapshotBytes)
		}
		if n := int(r.Blocks()); g.Report.Recomputed != fewestRuns(n, slots-1, map[[2]int]int{}) {
			t.Errorf("%d slots: %d runs of %d blocks, %d would do", slots, g.Report.Recomputed, n, fewestRuns(n, slots-1, map[[2]int]int{}))
		}
		last = g.Report
	}
}

// fewestRuns returns the least number of block runs with which a sweep can go
// back over n blocks from one snapshot with slots more, by trying every cut.
func fewestRuns(n, slots int, known map[[2]int]int) int {
	switch {
	case n <= 1:
		return n
	case slots == 0:
		return n * (n + 1) / 2
	}
	if best, ok := known[[2]int{n, slots}]; ok {
		return best
	}
	best := math.MaxInt
	for m := 1; m < n; m++ {
		best = min(best, m+fewestRuns(n-m, slots-1, known)+fewestRuns(m, slots, known))
	}
	known[[2]int{n, slots}] = best
	return best
}

// TestKeptBytes checks that only data that backward calls read is kept, and that
// the report counts it.
func TestKeptBytes(t *testing.T) {
	t.Parallel()
	in := map[string]node.Tensor[float64]{"x": constant(1.0, 64*64)}
	run := func(plan string, r flow.Recording) *flow.Gradients[float64] {
		trip := there(t, sketch(t, plan), flow.Options{}, r, in, 64)
		return trip.back(t, trip.ones())
	}
	const filters = "x Input; a Biquad; b Biquad f0=200; o Probe; x -> a; a -> b; b -> o"
	all, none := run(filters, flow.Recording{}), run(filters, flow.Recording{NoParams: true})
	if all.Report.KeptBytes < 2*64*64*8 || none.Report.KeptBytes > 64*4*200 {
		t.Errorf("kept %d bytes, %d without gradients of parameters", all.Report.KeptBytes, none.Report.KeptBytes)
	}
	if !slices.Equal(all.Inputs["x"].Data, none.Inputs["x"].Data) || len(none.Params) != 0 {
		t.Error("gradients of inputs differ without those of parameters")
	}
	if s := none.Report.String(); !strings.Contains(s, "every call kept") || !strings.Contains(s, fmt.Sprint(none.Report.KeptBytes)) {
		t.Errorf("the report does not say it:\n%s", s)
	}
}

// TestTruncation checks that a truncated sweep drops gradients across the borders
// of its groups of blocks, gives another result, and reports it.
func TestTruncation(t *testing.T) {
	t.Parallel()
	plan := sketch(t, "x Input; a OnePole f0=50; o Probe; x -> a; a -> o")
	r := there(t, plan, flow.Options{BlockFrames: 16}, flow.Recording{}, map[string]node.Tensor[float64]{"x": constant(1.0, 128)}, 8)
	whole := r.back(t, map[string]node.Tensor[float64]{"o": impulse[float64](64, 128)}).Inputs["x"].Data
	for _, k := range []int{1, 2, 3, 8} {
		g, err := r.rec.Backward(map[string]node.Tensor[float64]{"o": impulse[float64](64, 128)}, flow.Sweep{TruncateBlocks: k})
		if err != nil {
			t.Fatal(err)
		}
		from := 4 / k * k * 16 // of the stretch that block 4 is in
		got := g.Inputs["x"].Data
		if !slices.Equal(got[from:], whole[from:]) || slices.ContainsFunc(got[:from], func(v float64) bool { return v != 0 }) {
			t.Errorf("truncated every %d blocks: %v", k, got)
		}
		if !strings.Contains(g.Report.String(), "truncated every "+spelling.Count(k, "block")) {
			t.Errorf("the report hides it:\n%s", g.Report)
		}
	}
}

// TestGradientHash is the backward half of acceptance A34: two hundred orders
// of visiting nodes, each with 1, 2 or 4 threads, give the same bits.
func TestGradientHash(t *testing.T) {
	t.Parallel()
	var outputs, gradients [32]byte
	schedules := 40
	if await.Long() {
		schedules = 200
	}
	for i := range schedules {
		r := there(t, sketch(t, longPlan), flow.Options{BlockFrames: 32, Schedule: uint64(i), Threads: 1 << (i % 3)}, flow.Recording{Every: []int{1, 3}[i%2]}, longInputs[float32](320), 10)
		g := r.back(t, r.weights())
		o, d := digest(r.out, nil), digest(g.Inputs, g.Params)
		if i == 0 {
			outputs, gradients = o, d
		}
		if o != outputs || d != gradients {
			t.Fatalf("schedule %d: outputs the same: %v, gradients: %v", i, o == outputs, d == gradients)
		}
	}
}

// TestPlantedErrors checks that the tests of this package would notice the two
// mistakes that backward passes over blocks invite.
func TestPlantedErrors(t *testing.T) {
	t.Parallel()
	n := flowtest.Node("Biquad", "f0", 100.0, "q", 4.0)
	const frames, block = 1024, 64
	cuts := slices.Repeat([]int{block}, frames/block)
	r := rand.New(rand.NewPCG(3, 3))
	x, z := noise[float64](r, 1, 1, frames), noise[float64](r, 1, 1, frames)
	sweep := func(order func(i int) int, forget bool, x, z node.Tensor[float64]) (off, boundary float64) {
		g := flowtest.NewRig[float64](t, flow.ShippedTypes(), &n, 48000, []graph.Shape{{B: 1, C: 1}}, block)
		y := g.Forward(t, []node.Tensor[float64]{x}, cuts)[0]
		a := g.Inst.(node.Adjoint[float64])
		a.ResetAdjoint()
		d := constant(0.0, frames)
		for i := range cuts {
			if forget {
				a.ResetAdjoint()
			}
			k := order(i)
			b := g.Back(k, []node.Tensor[float64]{z})
			if code := a.Backward(&b); code != graph.Success {
				t.Fatal(code)
			}
			copy(d.Data[k*block:], b.DIn[0].Data)
		}
		left, norms := inner(0, map[string]node.Tensor[float64]{"": y}, map[string]node.Tensor[float64]{"": z})
		right, _ := inner(0, map[string]node.Tensor[float64]{"": x}, map[string]node.Tensor[float64]{"": d})
		return math.Abs(left-right) / norms, d.Data[4*block-1]
	}
	reverse, forward := func(i int) int { return len(cuts) - 1 - i }, func(i int) int { return i }
	first, second := impulse[float64](4*block-1, frames), impulse[float64](4*block, frames)
	for _, c := range []struct {
		name   string
		order  func(i int) int
		forget bool
		right  bool
	}{{"as it should be", reverse, false, true}, {"state dropped at borders", reverse, true, false}, {"blocks forwards", forward, false, false}} {
		off, _ := sweep(c.order, c.forget, x, z)
		_, boundary := sweep(c.order, c.forget, first, second)
		if (off <= 1e-12) != c.right || (boundary != 0) != c.right {
			t.Errorf("%s: dot products off by %.2g of the norms, response across a border %g", c.name, off, boundary)
		}
	}
}
