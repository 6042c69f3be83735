package live

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A simulation is a clock that waits by advancing, so that streams of it run in one deterministic order.
type simulation struct{ t int64 }

func (s *simulation) now() int64    { return s.t }
func (s *simulation) until(t int64) { s.t = max(s.t, t) }

func open(t testing.TB, plan string, block int) *flow.Session[float32] {
	t.Helper()
	p, err := graph.Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[float32](p, flow.Options{BlockFrames: block})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

const through = `{"nodes": [{"name": "in", "type": "Input"}, {"name": "g", "type": "Gain"}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "in", "target": "g"}, {"source": "g", "target": "out"}]}`

// simulated returns an input that counts its frames from 1 on, and an output that notes where it plays them.
func simulated(c Config, played []float32) (in, out *clocked) {
	clock, began := &simulation{t: 5}, new(int64)
	in, out = newClocked(&c, true, began), newClocked(&c, false, began)
	in.timer, out.timer = clock, clock
	in.fill = func(x []float32, frame int64) Status {
		for i := range x {
			x[i] = float32(frame + int64(i) + 1)
		}
		return OK
	}
	out.drain = func(x []float32, frame int64) Status {
		if frame < int64(len(played)) {
			copy(played[frame:], x) // nothing may be allocated here
		}
		return OK
	}
	return in, out
}

// TestRoundTrip: a frame comes out of the output at most two blocks after it went into the input, and none is lost, at
// any rate and block size. Where the device's period is not the block, it is that period and the block that counts.
func TestRoundTrip(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		block := 1 + dice.IntN(600)
		c := Config{Rate: 8000 + dice.IntN(90000), Channels: 1, Block: block, Period: block, Depth: 2}
		want := 2 * block
		if dice.IntN(2) == 0 {
			c.Period = 1 + dice.IntN(600)
			if c.Period != block {
				want = max(want, c.Period+block)
			}
		}
		played := make([]float32, 1<<16)
		in, out := simulated(c, played)
		const blocks = 50
		p, err := NewPlayer(open(t, through, block), Setup{In: stream{in}, Input: "in", Out: stream{out}, Output: "out", Shared: true, SampleRate: float64(c.Rate), Blocks: blocks, Free: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background())
		if err != nil || r.InXruns+r.OutXruns != 0 {
			t.Fatalf("%+v: %v, %+v", c, err, r)
		}
		first := slices.IndexFunc(played, func(x float32) bool { return x != 0 })
		if r.RoundTrip > want || first != r.RoundTrip {
			t.Errorf("%+v: frame 0 is played as frame %d, the report says %d, want at most %d", c, first, r.RoundTrip, want)
		}
		played = played[:out.moved]
		for i, x := range played[first:] {
			if x != float32(i+1) {
				t.Fatalf("%+v: frame %d is %g", c, i, x)
			}
		}
		if n := len(played) - first; n != blocks*block {
			t.Errorf("%+v: %d frames played of %d", c, n, blocks*block)
		}
	}
}

// TestXrun: a computer that is late loses the frames of that time and no others, on both sides, and says so.
func TestXrun(t *testing.T) {
	played := make([]float32, 1<<16)
	c := Config{Rate: 48000, Channels: 1, Block: 64, Period: 64, Depth: 2}
	in, out := simulated(c, played)
	late := 0
	fill := in.fill
	in.fill = func(x []float32, frame int64) Status {
		if late++; late == 20 {
			in.timer.until(in.timer.now() + 64*20*1_000_000_000/48000)
		}
		return fill(x, frame)
	}
	p, err := NewPlayer(open(t, through, 64), Setup{In: stream{in}, Input: "in", Out: stream{out}, Output: "out", Shared: true, SampleRate: 48000, Blocks: 60, Free: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(context.Background())
	if err != nil || r.InXruns != 1 || r.OutXruns != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	played = played[:out.moved]
	gaps := 0
	for i := 1; i < len(played); i++ {
		if played[i-1] != 0 && played[i] != played[i-1]+1 {
			gaps++
		}
	}
	if gaps == 0 || gaps > 2 {
		t.Errorf("%d gaps, want one on each side", gaps)
	}
}

// TestDrift: an output whose clock runs faster or slower than the input's neither starves nor is cut: the input is
// resampled to its clock.
func TestDrift(t *testing.T) {
	seconds := int64(20) // the correction has settled
	if await.Long() {
		seconds = 60
	}
	for _, ppm := range []float64{-300, -40, 0, 150, 400} {
		played := make([]float32, 1<<16)
		c := Config{Rate: 48000, Channels: 1, Block: 128, Period: 128, Depth: 3}
		in, out := simulated(c, played)
		in.rate *= 1 + ppm/1e6
		in.fill = func(x []float32, frame int64) Status {
			for i := range x {
				x[i] = float32(math.Sin(float64(frame+int64(i)) * 0.05))
			}
			return OK
		}
		p, err := NewPlayer(open(t, through, 128), Setup{In: stream{in}, Input: "in", Out: stream{out}, Output: "out", SampleRate: 48000, Blocks: seconds * 48000 / 128, Free: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background())
		if err != nil || r.InXruns+r.OutXruns != 0 {
			t.Errorf("%g ppm: %v, %d and %d xruns", ppm, err, r.InXruns, r.OutXruns)
		}
		if off := r.Trim*1e6 + ppm; math.Abs(off) > 25 {
			t.Errorf("%g ppm: corrected by %.1f", ppm, r.Trim*1e6)
		}
	}
}

// write makes a file of noise.
func write(t testing.TB, path string, rate, channels, frames int) {
	t.Helper()
	dice := rand.New(rand.NewPCG(uint64(frames), uint64(channels)))
	rows := make([][]float32, channels)
	for c := range rows {
		for range frames {
			rows[c] = append(rows[c], dice.Float32()*2-1)
		}
	}
	if err := media.WriteFile(path, media.Format{Rate: rate, Channels: channels, Float: true}, func(w *media.Writer) error { return media.Write(w, rows) }); err != nil {
		t.Fatal(err)
	}
}

// echo is a plan with a tail, a hold and two channels.
const echo = `{"nodes": [{"name": "in", "type": "Input", "params": {"channels": 2}}, {"name": "low", "type": "Biquad"}, {"name": "late", "type": "Delay", "params": {"delay": 777}},
	{"name": "sum", "type": "Mix"}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "in", "target": "low"}, {"source": "low", "target": "sum.in0", "delay_frames": 100}, {"source": "in", "target": "late"}, {"source": "late", "target": "sum.in1"}, {"source": "sum", "target": "out"}]}`

// TestRecording: what is recorded while a file plays is what the session gives offline, for any block and period.
func TestRecording(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for k := range 12 {
		frames := dice.IntN(9000)
		if k == 0 {
			frames = 640
		}
		src, dst := filepath.Join(dir, fmt.Sprintf("%d.wav", k)), filepath.Join(dir, fmt.Sprintf("%d-out.wav", k))
		write(t, src, 48000, 2, frames)
		block := 1 + dice.IntN(300)
		if k == 0 {
			block = 64
		}
		s := open(t, echo, block)
		in, out, shared, err := OpenDevice(&Config{Name: "file:free=" + src, Rate: 48000, Channels: 2, Block: block, Period: 1 + dice.IntN(500)},
			&Config{Name: "null:free", Rate: 48000, Channels: 2, Block: block})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := Record(dst, media.Format{Rate: 48000, Channels: 2})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlayer(s, Setup{In: in, Input: "in", Out: out, Output: "out", Shared: shared, SampleRate: 48000, Free: true, Taps: []Tap{{"out", rec}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background())
		if err != nil || r.Lost != 0 || !r.Ended {
			t.Fatalf("%v, %+v", err, r)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		got, _, err := media.ReadFile[float32](dst)
		if err != nil {
			t.Fatal(err)
		}
		want := offline(t, echo, src, block)
		for c := range want {
			if !slices.Equal(got[c], want[c]) {
				t.Fatalf("%d frames in blocks of %d: %d frames recorded, %d offline, or others", frames, block, len(got[c]), len(want[c]))
			}
		}
	}
}

// offline runs a file through a session in one go and cuts what padding its last block adds.
func offline(t testing.TB, plan, path string, block int) (rows [][]float32) {
	t.Helper()
	x, _, err := media.ReadFile[float32](path)
	if err != nil {
		t.Fatal(err)
	}
	n := len(x[0])
	blocks := (n + block - 1) / block
	all := node.Tensor[float32]{B: 1, C: len(x), N: n, Data: slices.Concat(x...)}
	out, err := open(t, plan, block).Run(map[string]node.Tensor[float32]{"in": all}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	y := out["out"]
	for r := range y.C {
		rows = append(rows, y.Row(r)[:y.N-(blocks*block-n)])
	}
	return rows
}
