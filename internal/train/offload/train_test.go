package offload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

// small is a state of a few chunks of the least size.
var (
	smallLayers = []Layer{{Name: "embed", Elements: 4500}, {Name: "norm", Elements: 1, NoDecay: true}, {Name: "blk", Elements: 2048}, {Name: "head", Elements: 7000}}
	smallConfig = Config{ChunkBytes: 1, Optimizer: Optimizer{Decay: 0.1}, Workers: 2}
)

func testInit(layer, offset int, dst []float32) error {
	for i := range dst {
		dst[i] = value(uint64(layer), 0, offset+i)
	}
	return nil
}

// value is a number between -1 and 1 that depends on all of its arguments.
func value(layer, step uint64, i int) float32 {
	x := (layer+1)*0x9e3779b97f4a7c15 ^ step*0xbf58476d1ce4e5b9 ^ uint64(i)*0x94d049bb133111eb
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return float32(int32(x>>32)) / (1 << 31)
}

// gradients are those of a step, last layer first, or of the layers given.
func gradients(layers []Layer, step uint64, only ...int) iter.Seq2[Gradient, error] {
	if len(only) == 0 {
		only = backward(len(layers))
	}
	return func(yield func(Gradient, error) bool) {
		for _, i := range only {
			g := make([]float32, layers[i].Elements)
			for k := range g {
				g[k] = value(uint64(i), step+1, k)
			}
			if !yield(Gradient{i, g}, nil) {
				return
			}
			for k := range g { // the state must not look at it any more
				g[k] = float32(math.NaN())
			}
		}
	}
}

// dump is everything that a state holds.
func dump(t *testing.T, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "step %d note %q\n", s.Steps(), s.Note())
	j := s.journal.Load()
	for i := range j.layers {
		if s.dir == "" {
			c := s.memory[i]
			b.Write(slices.Concat(c.master, c.m, c.v))
			continue
		}
		var master, m, v []byte
		r := reader{s: s, j: j}
		c := newChunk(j.chunkElements)
		for k := range j.layers[i].sums {
			c.ref = ref{i, k}
			if err := r.read(c); err != nil {
				t.Fatal(err)
			}
			master, m, v = append(master, c.master...), append(m, c.m...), append(v, c.v...)
		}
		r.close()
		b.Write(slices.Concat(master, m, v))
	}
	for p, err := range s.Params(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(p.Values)
	}
	return b.Bytes()
}

func same(t *testing.T, what string, a, b *State) {
	t.Helper()
	if x, y := dump(t, a), dump(t, b); !bytes.Equal(x, y) {
		i := 0
		for i < min(len(x), len(y)) && x[i] == y[i] {
			i++
		}
		t.Fatalf("%s: states of %d and %d bytes differ at byte %d; %.40q, %.40q", what, len(x), len(y), i, x, y)
	}
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// AdamW in float64, as in the paper, stays close to update.
func TestAdamW(t *testing.T) {
	t.Parallel()
	layers := []Layer{{Name: "a", Elements: 50}, {Name: "b", Elements: 50, NoDecay: true}}
	o := Optimizer{Decay: 0.1}
	s := must(New(layers, Config{Optimizer: o}, testInit))(t)
	type moments struct{ w, m, v float64 }
	want := make([]moments, 100)
	for i := range want {
		want[i].w = float64(value(uint64(i/50), 0, i%50))
	}
	const lr = 0.01
	for step := uint64(0); step < 20; step++ {
		if _, err := s.Step(t.Context(), gradients(layers, step), Update{LR: lr}); err != nil {
			t.Fatal(err)
		}
		n := float64(step + 1)
		for i := range want {
			x, g := &want[i], float64(value(uint64(i/50), step+1, i%50))
			x.m = 0.9*x.m + 0.1*g
			x.v = 0.999*x.v + 0.001*g*g
			if i < 50 {
				x.w -= lr * 0.1 * x.w
			}
			x.w -= lr * (x.m / (1 - math.Pow(0.9, n))) / (math.Sqrt(x.v/(1-math.Pow(0.999, n))) + 1e-8)
		}
	}
	for i, x := range want {
		c := s.memory[i/50]
		if got := float64(load(c.master, i%50)); math.Abs(got-x.w) > 1e-5 {
			t.Errorf("parameter %d is %g, want %g", i, got, x.w)
		}
	}
	if p := power(0.5, 10); p != 1.0/1024 {
		t.Errorf("0.5^10 = %g", p)
	}
}

// Files, memory, chunk sizes, buffers, workers, orders and resuming change no
// bit.
func TestFilesEqualMemory(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		cfg := Config{Optimizer: smallConfig.Optimizer, ChunkBytes: 1 << (12 + rng.IntN(6)), Buffers: rng.IntN(6), Workers: 1 + rng.IntN(3), SumBytes: int64(rng.IntN(2) * 1 << 20)}
		dir := filepath.Join(t.TempDir(), "state")
		inFiles := must(Create(t.Context(), dir, smallLayers, cfg, testInit))(t)
		inMemory := must(New(smallLayers, smallConfig, testInit))(t)
		same(t, "at the start", inFiles, inMemory)
		for step := range uint64(6) {
			order := rng.Perm(len(smallLayers))[:rng.IntN(len(smallLayers)+1)]
			batches := rng.IntN(3)
			for _, s := range []*State{inFiles, inMemory} {
				var squares float64
				for b := range batches {
					sq, err := s.Accumulate(t.Context(), gradients(smallLayers, 100*step+uint64(b)+1, order...))
					if err != nil || sq <= 0 {
						t.Fatal(sq, err)
					}
					squares += sq
				}
				grads := gradients(smallLayers, step, order...)
				if step%2 == 0 {
					grads = gradients(smallLayers, step)
				}
				if batches > 0 && step == 3 {
					grads = nil // all that is stepped was accumulated
				}
				r, err := s.Step(t.Context(), grads, Update{LR: 0.01, Note: fmt.Sprintf("step \"%d\"\n", step)})
				if err != nil || r.Step != step+1 {
					t.Fatal(r, err)
				}
			}
			same(t, fmt.Sprintf("round %d, step %d, %d batches, order %v", round, step, batches, order), inFiles, inMemory)
			if rng.IntN(2) == 0 {
				inFiles = must(Open(dir, cfg))(t)
			}
		}
		if err := errors.Join(inFiles.Verify(t.Context()), inMemory.Verify(t.Context())); err != nil {
			t.Error(err)
		}
		if !slices.Equal(inFiles.Layers(), smallLayers) || inFiles.WrittenBytes() == 0 {
			t.Error(inFiles.Layers(), inFiles.WrittenBytes())
		}
	}
}

// A step writes 14 bytes a parameter and reads 12.
func TestReport(t *testing.T) {
	t.Parallel()
	s := must(Create(t.Context(), t.TempDir(), smallLayers, smallConfig, testInit))(t)
	n := uint64(0)
	for _, l := range smallLayers {
		n += uint64(l.Elements)
	}
	var r Report
	for step := range uint64(2) { // the second follows the guessed order
		r = must(s.Step(t.Context(), gradients(smallLayers, step), Update{LR: 0.1}))(t)
	}
	if r.WrittenBytes != 14*n || r.ReadBytes != 12*n {
		t.Errorf("%d parameters: read %d, written %d bytes", n, r.ReadBytes, r.WrittenBytes)
	}
	if got := r.StepsUntil(1400 * n); got != 100 {
		t.Errorf("%d steps, want 100", got)
	}
	if o := r.Overlap(); o < 0 || o > 1 {
		t.Errorf("overlap %g", o)
	}
	if s.WrittenBytes() != 3*14*n {
		t.Errorf("%d bytes in all", s.WrittenBytes())
	}
	if (Report{}).StepsUntil(5) != 0 || (Report{}).Overlap() != 1 {
		t.Error("an empty report")
	}
	r = Report{Wall: 10, Read: 10, Compute: 5, Gradients: 5, Write: 5}
	if r.Overlap() != 1 {
		t.Error(r.Overlap())
	}
	if r.Wall = 25; r.Overlap() != 0 {
		t.Error(r.Overlap())
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := must(Create(t.Context(), dir, smallLayers, smallConfig, testInit))(t)
	before := dump(t, s)
	if _, err := Create(t.Context(), dir, smallLayers, smallConfig, testInit); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Config{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened nothing: %v", err)
	}
	for _, layers := range [][]Layer{nil, {{Name: "", Elements: 1}}, {{Name: "a\nb", Elements: 1}}, {{Name: "a"}}, {{Name: "a", Elements: 1}, {Name: "a", Elements: 1}}} {
		if _, err := New(layers, Config{}, testInit); !errors.Is(err, errConfig) {
			t.Errorf("%v: %v", layers, err)
		}
	}
	broken := errors.New("broken")
	for name, g := range map[string]iter.Seq2[Gradient, error]{
		"length": func(yield func(Gradient, error) bool) { yield(Gradient{0, make([]float32, 3)}, nil) },
		"layer":  func(yield func(Gradient, error) bool) { yield(Gradient{9, nil}, nil) },
		"twice":  gradients(smallLayers, 0, 1, 1),
		"error": func(yield func(Gradient, error) bool) {
			for g, err := range gradients(smallLayers, 0) {
				if !yield(g, err) {
					return
				}
			}
			yield(Gradient{}, broken)
		},
	} {
		want := errConfig
		if name == "error" {
			want = broken
		}
		if _, err := s.Step(t.Context(), g, Update{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Accumulate(t.Context(), g); name != "twice" && !errors.Is(err, want) {
			t.Errorf("accumulate %s: %v", name, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Step(cancelled, gradients(smallLayers, 0), Update{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, err := range s.Params(t.Context(), 7) {
		if !errors.Is(err, errConfig) {
			t.Error(err)
		}
	}
	for _, err := range s.Params(cancelled) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	_, err := s.Step(t.Context(), func(yield func(Gradient, error) bool) {
		_, err := s.Step(t.Context(), nil, Update{})
		yield(Gradient{}, err)
	}, Update{})
	if !errors.Is(err, errBusy) {
		t.Errorf("a step in a step: %v", err)
	}
	if !bytes.Equal(before, dump(t, s)) {
		t.Error("a refused step changed the state")
	}
	for range s.Params(t.Context()) {
		break // and nothing hangs
	}
}

// In memory there is no old version to go back to.
func TestTorn(t *testing.T) {
	t.Parallel()
	s := must(New(smallLayers, smallConfig, testInit))(t)
	if _, err := s.Step(t.Context(), func(yield func(Gradient, error) bool) { yield(Gradient{Layer: 9}, nil) }, Update{}); err == nil || s.err != nil {
		t.Fatalf("refused before anything was stepped: %v, %v", err, s.err)
	}
	if _, err := s.Step(t.Context(), gradients(smallLayers, 0, 1, 1), Update{}); !errors.Is(err, errConfig) {
		t.Error(err)
	}
	if _, err := s.Step(t.Context(), nil, Update{}); !errors.Is(err, errTorn) {
		t.Error(err)
	}
}

// Two processes cannot step one state without noticing.
func TestForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := must(Create(t.Context(), dir, smallLayers, smallConfig, testInit))(t)
	b := must(Open(dir, smallConfig))(t)
	must(a.Step(t.Context(), gradients(smallLayers, 0), Update{LR: 1}))(t)
	if _, err := b.Step(t.Context(), gradients(smallLayers, 0), Update{LR: 1}); !errors.Is(err, errForeign) {
		t.Errorf("got %v", err)
	}
}

// A flipped bit anywhere is found before it is computed with.
func TestDamage(t *testing.T) {
	t.Parallel()
	for what, flips := range map[string]string{"state": "layer-00003.0.state", "params": "layer-00002.0.params", "journal": "journal"} {
		dir := t.TempDir()
		must(Create(t.Context(), dir, smallLayers, smallConfig, testInit))(t)
		fsys := faultfs.New(0, faultfs.Fail)
		fsys.FlipBit(filepath.Join(dir, flips), 433)
		cfg := smallConfig
		cfg.FS = fsys
		s, err := Open(dir, cfg)
		if what == "journal" {
			if !errors.Is(err, errFormat) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(t.Context()); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := s.Step(t.Context(), gradients(smallLayers, 0), Update{}); what == "state" && !errors.Is(err, errCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	dir := t.TempDir()
	s := must(Create(t.Context(), dir, smallLayers, smallConfig, testInit))(t)
	if err := errors.Join(os.Truncate(s.file(0, 0, "state"), 100), os.Remove(s.file(1, 0, "params"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context()); !errors.Is(err, errCorrupt) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Wherever a step stops, the old step or the new one is there, whole; and an
// acknowledged one is the new one.
func TestCrash(t *testing.T) {
	t.Parallel()
	layers := []Layer{{Name: "a", Elements: 3000}, {Name: "b", Elements: 10}}
	after := make([]*State, 4) // the state in memory after that many steps
	for i := range after {
		after[i] = must(New(layers, smallConfig, testInit))(t)
		for step := range i {
			must(after[i].Step(t.Context(), gradients(layers, uint64(step)), Update{LR: 0.1, Note: fmt.Sprint(step)}))(t)
		}
	}
	step := func(s *State) error {
		n := s.Steps()
		_, err := s.Step(t.Context(), gradients(layers, n), Update{LR: 0.1, Note: fmt.Sprint(n)})
		return err
	}
	old := t.TempDir()
	if err := step(must(Create(t.Context(), old, layers, smallConfig, testInit))(t)); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Stop, faultfs.Torn, faultfs.Full} {
		for n, fsys := range faultfs.Each(fault) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
			cfg := smallConfig
			cfg.FS = fsys
			s, err := Open(dir, cfg)
			if err == nil {
				err = step(s)
			}
			fsys.PowerCut()
			got, openErr := Open(dir, smallConfig)
			if openErr != nil {
				t.Fatalf("fault %d at call %d: %v", fault, n, openErr)
			}
			if err == nil && got.Steps() != 2 {
				t.Fatalf("fault %d at call %d: an acknowledged step is gone", fault, n)
			}
			same(t, fmt.Sprintf("fault %d at call %d", fault, n), got, after[got.Steps()])
			if fault == faultfs.Stop && n%4 == 0 {
				if err := step(got); err != nil {
					t.Fatal(err)
				}
				same(t, "resumed", got, after[got.Steps()])
			}
		}
	}
}

// A state that was not made completely is none, and can be made again.
func TestCrashCreate(t *testing.T) {
	t.Parallel()
	layers := []Layer{{Name: "a", Elements: 3000}, {Name: "b", Elements: 10}}
	for n, fsys := range faultfs.Each(faultfs.Stop) {
		dir := filepath.Join(t.TempDir(), "new")
		cfg := smallConfig
		cfg.FS = fsys
		_, err := Create(t.Context(), dir, layers, cfg, testInit)
		fsys.PowerCut()
		s, openErr := Open(dir, smallConfig)
		if openErr != nil && (err == nil || !errors.Is(openErr, fs.ErrNotExist)) {
			t.Fatalf("call %d: %v, %v", n, err, openErr)
		}
		if openErr != nil {
			s = must(Create(t.Context(), dir, layers, smallConfig, testInit))(t)
		}
		same(t, fmt.Sprintf("call %d", n), s, must(New(layers, smallConfig, testInit))(t))
	}
}

// cached is a file system that cannot read past the cache.
type cached struct{ durable.FS }

func (c cached) OpenFile(name string, flag int, mode fs.FileMode) (durable.File, error) {
	if flag&directFlag != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EINVAL}
	}
	return c.FS.OpenFile(name, flag, mode)
}

func TestWithoutDirectReads(t *testing.T) {
	t.Parallel()
	cfg := smallConfig
	cfg.FS = cached{durable.Default(nil)}
	s := must(Create(t.Context(), t.TempDir(), smallLayers, cfg, testInit))(t)
	want := must(New(smallLayers, smallConfig, testInit))(t)
	for _, s := range []*State{s, want} {
		must(s.Step(t.Context(), gradients(smallLayers, 0), Update{LR: 0.1}))(t)
	}
	same(t, "through the cache", s, want)
}

// TestCreateEnds: what begins by writing a large state ends with its context, and leaves
// no state.
func TestCreateEnds(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("asked to")
	chunks := 0
	_, err := Create(ctx, dir, smallLayers, smallConfig, func(layer, offset int, dst []float32) error {
		if chunks++; chunks == 2 {
			stop(why)
		}
		return testInit(layer, offset, dst)
	})
	if !errors.Is(err, why) || chunks != 2 {
		t.Errorf("%v after %d chunks, want to end after 2", err, chunks)
	}
	if _, err := Open(dir, smallConfig); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened: %v", err)
	}
}
