package live

import (
	"math"
	"runtime"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
)

const decay = `{"nodes":[{"name":"in","type":"Input"},{"name":"pole","type":"OnePole","params":{"f0":20}},{"name":"out","type":"Probe"}],
	"edges":[{"source":"in","target":"pole"},{"source":"pole","target":"out"}]}`

// TestDenormals runs a recursive filter that decays from 1e-30 (in float64 from
// a number as close to the smallest normal one) for ten seconds. Neither
// executor gives denormals, their bits are equal, and the floating-point
// environment of Go's threads is unchanged. The time of a decaying block over
// that of a block with a signal is logged: at most 2, without flushing about 20.
func TestDenormals(t *testing.T) {
	if cpu.FlushToZero == 0 {
		t.Skip("the register of this processor is not known to fpenv")
	}
	t.Run("A59", func(t *testing.T) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before := cpu.GetFloatEnv()
		t.Run("float32", func(t *testing.T) { decays[float32](t, 1e-30, 0x1p-126) })
		t.Run("float64", func(t *testing.T) { decays[float64](t, 1e-300, 0x1p-1022) })
		if now := cpu.GetFloatEnv(); !cpu.SameFloatEnv(before, now) {
			t.Errorf("the floating-point environment was %#x and is %#x", before, now)
		}
	})
}

func decays[F node.Float](t *testing.T, start, least float64) {
	const blocks = 7500 // ten seconds
	session := func() *flow.Session[F] {
		p, err := graph.Parse([]byte(decay))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flow.New[F](p, flow.Options{BlockFrames: 64})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, live := session(), session()
	play, err := NewLoopPlayer(live, LoopConfig{Blocks: blocks}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Input("in")
	if err != nil {
		t.Fatal(err)
	}
	block := make([]F, 64)
	block[0] = F(start)
	for k := range blocks {
		if ok, err := play.Put("in", block); !ok || err != nil {
			t.Fatal(k, err)
		}
		block[0] = 0
	}
	rep := play.Run()
	got := make([]F, 64)
	zeros := 0
	for k := range blocks {
		clear(in.Data[:64])
		if k == 0 {
			in.Data[0] = F(start)
		}
		if err := s.Block(); err != nil {
			t.Fatal(err)
		}
		want, err := s.Probe("out")
		if err != nil {
			t.Fatal(err)
		}
		if n, ok, err := play.Get("out", got); n != 64 || !ok || err != nil {
			t.Fatal(n, ok, err)
		}
		for i, v := range got {
			if v != want.Data[i] {
				t.Fatalf("block %d, frame %d: %g in real time, %g otherwise", k, i, v, want.Data[i])
			}
			if v == 0 {
				zeros++
			} else if math.Abs(float64(v)) < least {
				t.Fatalf("block %d, frame %d: %g is a denormal", k, i, v)
			}
		}
	}
	if zeros < blocks*64/2 {
		t.Errorf("only %d frames are zero: the filter did not decay", zeros)
	}

	loud, err := NewLoopPlayer(session(), LoopConfig{Blocks: blocks}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range block {
		block[i] = F(i) - 31.5
	}
	for range blocks {
		if _, err := loud.Put("in", block); err != nil {
			t.Fatal(err)
		}
	}
	normal := loud.Run()
	a, b := rep.Work.Quantile(.5), normal.Work.Quantile(.5)
	t.Logf("median block: %v decaying, %v of a signal: %.2f", a, b, float64(a)/float64(b))
}
