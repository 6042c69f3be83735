package nested_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"

	"atenia/nested"
	"atenia/nested/rule"
)

// text returns n deterministic tokens below 16.
func text(seed uint64, n int) []int32 {
	r, ids := rule.NewRand(seed), make([]int32, n)
	for i := range ids {
		ids[i] = int32(r.Uint64() % 16)
	}
	return ids
}

// variants are models of every kind of pass.
func variants(f func(id string, c nested.Config)) {
	for _, c := range []nested.Composition{nested.MAG, nested.MAC, nested.MAL} {
		f(c.String(), nested.Config{Composition: c, Periods: []int{1, 3}})
	}
	f("learned", nested.Config{Periods: []int{1, 1, 1}, Learned: true, Pool: nested.PoolFirst})
	f("annealed", nested.Config{Periods: []int{1, 2}, Learned: true, Anneal: 3})
	f("everything", nested.Config{Composition: nested.MAC, Layers: 2, RopeBase: 100, Persistent: 2, Residual: true, Norm: true, KeyTaps: 3, Periods: []int{1, 2}})
}

// TestBuildEqualsStream runs a document through a recording runner and through
// a reader: logits and memory are the same bits in every chunk.
func TestBuildEqualsStream(t *testing.T) {
	t.Parallel()
	variants(func(id string, c nested.Config) {
		t.Run(id, func(t *testing.T) { buildEqualsStream[float32](t, c); buildEqualsStream[float64](t, c) })
	})
	eachRule(t, func(t *testing.T, name rule.Name) {
		buildEqualsStream[float32](t, nested.Config{Rule: name, Periods: []int{1, 2, 4}})
	})
}

func buildEqualsStream[F float32 | float64](t *testing.T, c nested.Config) {
	c.Chunk = 5
	p := pointOf[F](t, c, 4)
	build, err := p.m.NewRunner(true, nil)
	if err != nil {
		t.Fatal(err)
	}
	rd, err := p.m.NewReader(nested.Stream, nil)
	if err != nil {
		t.Fatal(err)
	}
	rd.Context().CopyFrom(p.ctx)
	conductor, err := nested.NewConductor(p.m.Config().Periods...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		ids := text(uint64(i), 5)
		tr, err := build.Forward(conductor.Pulse(nested.Build), p.ctx, ids, ids, nil)
		if err != nil {
			t.Fatal(err)
		}
		logits := build.Tape().Value(tr.Logits)
		if err := rd.Read(ids...); err != nil {
			t.Fatal(err)
		}
		last, err := rd.Logits()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(last, logits[4*16:]) {
			t.Fatalf("chunk %d: logits of the last token are %v, want %v", i, last, logits[4*16:])
		}
		if !rd.Context().Equal(p.ctx) {
			t.Fatalf("chunk %d: memory before it differs", i)
		}
		if err := build.Backward(1); err != nil {
			t.Fatal(err)
		}
		build.Commit()
		conductor.Advance()
	}
}

// TestReaderTokenByToken feeds a document in pieces of different lengths:
// neither the reader's predictions nor its memory depend on them.
func TestReaderTokenByToken(t *testing.T) {
	t.Parallel()
	for _, c := range []nested.Config{
		{Width: 8, Heads: 2, Window: 4, Chunk: 5, Periods: []int{1, 2}, RopeBase: 100, KeyTaps: 2},
		{Width: 64, Heads: 4, Window: 9, Chunk: 16, Rule: rule.Moneta, Norm: true, Residual: true, Layers: 2},
	} {
		c.Vocab = 16
		t.Run(fmt.Sprint(c.Width), func(t *testing.T) { tokenByToken(t, built[float32](t, c)) })
	}
}

func tokenByToken(t *testing.T, m *nested.Model[float32]) {
	ids := text(1, 23)
	whole, err := m.NewReader(nested.Test, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, n, err := whole.Score(ids...)
	if err != nil || n != 22 {
		t.Fatal(n, err)
	}
	for _, size := range []int{1, 2, 7} {
		rd, err := m.NewReader(nested.Test, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, count := 0.0, 0
		for part := range slices.Chunk(ids, size) {
			s, n, err := rd.Score(part...)
			if err != nil {
				t.Fatal(err)
			}
			got, count = got+s, count+n
		}
		if off := got - sum; count != 22 || off > 1e-4 || off < -1e-4 {
			t.Errorf("pieces of %d: surprise %g over %d, want %g over 22", size, got, count, sum)
		}
		a, _ := rd.Logits()
		b, _ := whole.Logits()
		if !slices.Equal(a, b) || !rd.Context().Equal(whole.Context()) {
			t.Errorf("pieces of %d leave another memory", size)
		}
	}
	if _, err := m.NewReader(nested.Build, nil); !errors.Is(err, nested.ErrInput) {
		t.Errorf("a reader that builds: %v", err)
	}
	if err := whole.Read(16); !errors.Is(err, nested.ErrInput) {
		t.Errorf("a token outside the vocabulary: %v", err)
	}
}

// TestFrozenState runs frozen chunks of every rule: not a bit of the state
// changes, while an active one changes it.
func TestFrozenState(t *testing.T) {
	t.Parallel()
	eachRule(t, func(t *testing.T, name rule.Name) {
		p := pointOf[float32](t, nested.Config{Rule: name, Periods: []int{1, 2}}, 4)
		r, err := p.m.NewRunner(true, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := p.states()
		for _, active := range []bool{false, true} {
			if _, err := r.Forward(nested.NewPulse(1, nested.Build, true, active), p.ctx, p.ids, p.targets, nil); err != nil {
				t.Fatal(err)
			}
			r.Commit()
			if slices.Equal(before[0], p.ctx.State(0, 0)) {
				t.Error("the active level has learned nothing")
			}
			if slices.Equal(before[1], p.ctx.State(0, 1)) == active {
				t.Errorf("active %v: state of the second level equal to the one before: %v", active, !active)
			}
		}
	})
}

// TestPulseTable checks which levels are active in which steps.
func TestPulseTable(t *testing.T) {
	t.Parallel()
	c, err := nested.NewConductor(1, 8, 64, 512)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	counts := make([]int, 4)
	for step := range int64(1025) {
		p := c.Pulse(nested.Build)
		if p.Step() != step || p.Levels() != 4 {
			t.Fatalf("step %d: %v", step, p)
		}
		for l, period := range []int64{1, 8, 64, 512} {
			if p.Active(l) != (step%period == 0) {
				t.Fatalf("%v: level %d", p, l)
			}
			if p.Active(l) {
				counts[l]++
			}
		}
		if strings.HasSuffix(p.String(), "####") {
			all = append(all, p.String())
		}
		// The pulse does not change until the conductor advances.
		if q := c.Pulse(nested.Build); q.String() != p.String() {
			t.Fatalf("%v became %v without an advance", p, q)
		}
		c.Advance()
	}
	if got, want := strings.Join(all, ", "), "step 0 build ####, step 512 build ####, step 1024 build ####"; got != want {
		t.Errorf("all levels are active in %s, want %s", got, want)
	}
	if want := []int{1025, 129, 17, 3}; !slices.Equal(counts, want) {
		t.Errorf("levels were active %v times, want %v", counts, want)
	}
	for _, bad := range [][]int{nil, {2}, {1, 0}, {1, -8}} {
		if _, err := nested.NewConductor(bad...); !errors.Is(err, nested.ErrConfig) {
			t.Errorf("periods %v: %v", bad, err)
		}
	}
}

// TestErrorBuffer follows gradients of a level through frozen and active
// steps: none is lost and none counted twice.
func TestErrorBuffer(t *testing.T) {
	t.Parallel()
	for _, fold := range []nested.Fold{nested.FoldSum, nested.FoldMean} {
		t.Run(fold.String(), func(t *testing.T) {
			p := pointOf[float64](t, nested.Config{Periods: []int{1, 4}, Fold: fold}, 4)
			b, err := p.m.NewBuilder(nested.BuildConfig{})
			if err != nil {
				t.Fatal(err)
			}
			name := "layers.0.levels.1.W_Q"
			q, _ := p.m.Param(name)
			at := p.m.Offset(name)
			want, waiting := make([]float64, len(q.Value)), make([]float64, len(q.Value))
			n := 0
			for step := range 9 {
				ids, targets := text(uint64(step), 4), text(uint64(100+step), 4)
				p.ids, p.targets = ids, targets
				p.ctx.CopyFrom(b.Context(0))
				pulse := b.Conductor().Pulse(nested.Build)
				p.active = []bool{pulse.Active(0), pulse.Active(1)}
				raw := p.gradients(t)[at:][:len(want)]
				if err := b.Gradients([]nested.Chunk{{IDs: ids, Targets: targets}}, 1); err != nil {
					t.Fatal(err)
				}
				if p.active[1] {
					for i := range want {
						w := waiting[i]
						if fold == nested.FoldMean && n > 0 {
							w /= float64(n)
						}
						want[i] += raw[i] + w
					}
					clear(waiting)
					n = 0
				} else {
					for i := range want {
						waiting[i] += raw[i]
					}
					n++
				}
				if q.Hold == p.active[1] {
					t.Errorf("step %d: held %v with the level active %v", step, q.Hold, p.active[1])
				}
			}
			near(t, "what reached the optimiser", q.Grad, want, 1e-13)
			v, _ := p.m.Param("layers.0.levels.1.W_V")
			if fold == nested.FoldSum && slices.Max(v.Grad) == 0 {
				t.Error("active steps gave no gradient of values")
			}
		})
	}
}

// TestReset: after a reset, memory is as at the start, and steps are still
// counted.
func TestReset(t *testing.T) {
	t.Parallel()
	eachRule(t, func(t *testing.T, name rule.Name) {
		m := built[float32](t, nested.Config{Rule: name, Memory: small(name, 8), Vocab: 16, Width: 8, Chunk: 4, Periods: []int{1, 2}, KeyTaps: 2})
		rd, err := m.NewReader(nested.Stream, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := rd.Read(text(1, 11)...); err != nil {
			t.Fatal(err)
		}
		if rd.Context().Equal(m.NewContext()) {
			t.Error("nothing was learned")
		}
		rd.Reset()
		if !rd.Context().Equal(m.NewContext()) || rd.Step() != 2 {
			t.Errorf("after a reset at step %d memory is not as at the start", rd.Step())
		}
	})
}

// mixed is a configuration with most kinds of state in a snapshot.
var mixed = nested.Config{Rule: rule.Titans, Vocab: 16, Width: 8, Heads: 2, Window: 3, Periods: []int{1, 4}, Layers: 2, Residual: true, KeyTaps: 2, Seed: 3}

func newBuilder(t testing.TB, c nested.Config, lanes int, p *grad.Threads) (*nested.Model[float32], *nested.Builder[float32]) {
	t.Helper()
	m := built[float32](t, c)
	b, err := m.NewBuilder(nested.BuildConfig{Lanes: lanes, Rule: grad.AdamW{}, Clip: 1, Threads: p})
	if err != nil {
		t.Fatal(err)
	}
	return m, b
}

func chunksOf(step, lanes int) (all []nested.Chunk) {
	for i := range lanes {
		s := uint64(step*10 + i)
		all = append(all, nested.Chunk{IDs: text(s, 6), Targets: text(s+5, 6), Reset: (step+i)%5 == 0})
	}
	return all
}

func steps(t testing.TB, b *nested.Builder[float32], from, to, lanes int) (loss float64) {
	t.Helper()
	for s := from; s < to; s++ {
		r, err := b.Step(chunksOf(s, lanes), 0.01)
		if err != nil {
			t.Fatal(err)
		}
		loss = r.Loss
	}
	return loss
}

// TestSnapshotMidPeriod saves between two active steps of a level, when its
// error buffer is not empty, and continues from the file with the same bits.
func TestSnapshotMidPeriod(t *testing.T) {
	t.Parallel()
	m, b := newBuilder(t, mixed, 2, nil)
	steps(t, b, 0, 6, 2)
	path := filepath.Join(t.TempDir(), "snapshot")
	if err := b.SaveFile(path, []byte("line 7")); err != nil {
		t.Fatal(err)
	}
	want := steps(t, b, 6, 13, 2)
	m2, b2 := newBuilder(t, mixed, 2, nil)
	steps(t, b2, 0, 3, 2) // whatever it did before is gone
	cursor, err := b2.RestoreFile(path)
	if err != nil || string(cursor) != "line 7" {
		t.Fatalf("%q, %v", cursor, err)
	}
	if s := b2.Conductor().Step(); s != 6 {
		t.Fatalf("restored at step %d", s)
	}
	if got := steps(t, b2, 6, 13, 2); got != want {
		t.Errorf("loss %g, want %g", got, want)
	}
	if !slices.Equal(m.Values(), m2.Values()) {
		t.Error("parameters differ")
	}
	for i := range 2 {
		if !b.Context(i).Equal(b2.Context(i)) {
			t.Errorf("memory of lane %d differs", i)
		}
	}
}

// TestSnapshotOfAnother: files of another model, and damaged ones, are rejected.
func TestSnapshotOfAnother(t *testing.T) {
	t.Parallel()
	_, b := newBuilder(t, mixed, 2, nil)
	var file bytes.Buffer
	if err := b.Save(&file, nil); err != nil {
		t.Fatal(err)
	}
	wide := mixed
	wide.Width = 16
	_, other := newBuilder(t, wide, 2, nil)
	if _, err := other.Restore(bytes.NewReader(file.Bytes())); !errors.Is(err, nested.ErrMismatch) || !errors.Is(err, nested.ErrFile) {
		t.Errorf("another width: %v", err)
	}
	_, lanes := newBuilder(t, mixed, 3, nil)
	if _, err := lanes.Restore(bytes.NewReader(file.Bytes())); !errors.Is(err, nested.ErrMismatch) {
		t.Errorf("other lanes: %v", err)
	}
	rd, err := built[float32](t, mixed).NewReader(nested.Stream, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rd.Restore(bytes.NewReader(file.Bytes())); !errors.Is(err, nested.ErrMismatch) {
		t.Errorf("a snapshot as a memory: %v", err)
	}
	for i := 0; i < file.Len(); i += 997 {
		bad := bytes.Clone(file.Bytes())
		bad[i] ^= 4
		if _, err := b.Restore(bytes.NewReader(bad)); !errors.Is(err, nested.ErrFile) {
			t.Errorf("a flipped bit at %d: %v", i, err)
		}
		if _, err := b.Restore(bytes.NewReader(bad[:i])); !errors.Is(err, nested.ErrFile) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// TestMemoryGoesOn saves a reader in the middle of a chunk; another one
// continues with the same bits.
func TestMemoryGoesOn(t *testing.T) {
	t.Parallel()
	m := built[float32](t, nested.Config{Vocab: 16, Width: 8, Window: 3, Chunk: 5, Periods: []int{1, 2}, Seed: 9})
	rd, err := m.NewReader(nested.Stream, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{12, 3, 1} { // a growing chunk, a full one, a fresh one
		if err := rd.Read(text(uint64(n), n)...); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "memory")
		if err := rd.SaveFile(path); err != nil {
			t.Fatal(err)
		}
		again, err := m.NewReader(nested.Stream, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.RestoreFile(path); err != nil {
			t.Fatal(err)
		}
		a, _ := rd.Logits()
		b, err := again.Logits()
		if err != nil || !slices.Equal(a, b) || again.Step() != rd.Step() {
			t.Errorf("after %d: other logits, or %v", n, err)
		}
	}
	trained := built[float32](t, nested.Config{Vocab: 16, Width: 8, Window: 3, Chunk: 5, Periods: []int{1, 2}, Seed: 9})
	trained.Values()[3]++
	other, err := trained.NewReader(nested.Stream, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := rd.Save(&file); err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(&file); !errors.Is(err, nested.ErrMismatch) {
		t.Errorf("memory of other parameters: %v", err)
	}
}

// TestFailedStep fails in one lane: no state changes, and repeating the step gives
// the same result as a step that did not fail.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	m, b := newBuilder(t, mixed, 2, nil)
	steps(t, b, 0, 3, 2)
	before, ctx := slices.Clone(m.Values()), m.NewContext()
	ctx.CopyFrom(b.Context(0))
	bad := chunksOf(3, 2)
	bad[1].IDs[2] = 99
	if _, err := b.Step(bad, 0.01); !errors.Is(err, grad.ErrRange) {
		t.Fatalf("a token outside the vocabulary: %v", err)
	}
	if _, err := b.Step(bad[:1], 0.01); !errors.Is(err, nested.ErrInput) {
		t.Fatalf("a chunk too few: %v", err)
	}
	if !slices.Equal(before, m.Values()) || !ctx.Equal(b.Context(0)) || b.Conductor().Step() != 3 {
		t.Error("a failed step changed something")
	}
	steps(t, b, 3, 6, 2)
	m2, b2 := newBuilder(t, mixed, 2, nil)
	steps(t, b2, 0, 6, 2)
	if !slices.Equal(m.Values(), m2.Values()) {
		t.Error("the step done again was another")
	}
	p, _ := m.Param("W_unembed")
	p.Value[0] = float32(1e38)
	p.Value[1] = float32(-1e38)
	for i := range p.Value {
		p.Value[i] *= 1e38
	}
	if _, err := b.Step(chunksOf(6, 2), 0.01); !errors.Is(err, nested.ErrDiverged) {
		t.Errorf("an infinite loss: %v", err)
	}
}

// TestThreads computes the same steps with several numbers of threads.
func TestThreads(t *testing.T) {
	t.Parallel()
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		p := grad.NewThreads(threads)
		m, b := newBuilder(t, mixed, 4, p)
		steps(t, b, 0, 6, 4)
		p.Close()
		if want == nil {
			want = slices.Clone(m.Values())
		}
		if !slices.Equal(want, m.Values()) {
			t.Errorf("%d threads give other parameters", threads)
		}
	}
}

// TestZeroAllocations counts the allocations of steady steps.
func TestZeroAllocations(t *testing.T) {
	for _, c := range []nested.Config{
		mixed,
		{Rule: rule.Delta, Vocab: 16, Width: 8, Window: 3, Periods: []int{1, 2, 4, 8}, Learned: true},
		{Rule: rule.Titans, Composition: nested.MAC, Vocab: 16, Width: 8, Window: 3, RopeBase: 100, Persistent: 2, Norm: true},
	} {
		t.Run(fmt.Sprint(c.Composition, len(c.Periods), c.Learned), func(t *testing.T) {
			_, b := newBuilder(t, c, 2, nil)
			chunks := [][]nested.Chunk{chunksOf(1, 2), chunksOf(2, 2)}
			steps(t, b, 0, 9, 2)
			i := 0
			step := func() {
				if _, err := b.Step(chunks[i%2], 0.01); err != nil {
					t.Error(err)
				}
				i++
			}
			n := 1.0
			for try := 0; try < 10 && n != 0; try++ { // a thread that the runtime starts meanwhile counts, too
				n = await.Allocs(16, step)
			}
			if n != 0 {
				t.Errorf("a step allocates %v times", n)
			}
		})
	}
}

// FuzzRestore reads files that are not snapshots.
func FuzzRestore(f *testing.F) {
	m, err := nested.New[float32](nested.Config{Vocab: 3, Width: 2, Periods: []int{1, 2}})
	if err != nil {
		f.Fatal(err)
	}
	b, err := m.NewBuilder(nested.BuildConfig{})
	if err != nil {
		f.Fatal(err)
	}
	rd, err := m.NewReader(nested.Stream, nil)
	if err != nil {
		f.Fatal(err)
	}
	if err := rd.Read(1, 2); err != nil {
		f.Fatal(err)
	}
	for _, save := range []func() []byte{
		func() []byte { var w bytes.Buffer; _ = b.Save(&w, []byte("x")); return w.Bytes() },
		func() []byte { var w bytes.Buffer; _ = rd.Save(&w); return w.Bytes() },
	} {
		file := save()
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := b.Restore(bytes.NewReader(file)); err != nil && !errors.Is(err, nested.ErrFile) {
			t.Error(err)
		}
		if err := rd.Restore(bytes.NewReader(file)); err != nil && !errors.Is(err, nested.ErrFile) {
			t.Error(err)
		}
	})
}
