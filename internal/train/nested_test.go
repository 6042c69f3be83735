package train

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/store/faultfs"
	"atenia/internal/train/data"
	"atenia/nested"
)

func tinyNested() nested.Config {
	return nested.Config{Vocab: 257, Width: 16, Heads: 2, Window: 8, Chunk: 6, Periods: []int{1, 2}, Residual: true, Norm: true, Seed: 3}.WithDefaults()
}

func newNested(t *testing.T, lanes int) *Nested {
	t.Helper()
	m, err := NewNested(tinyNested(), lanes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// nestedRows are texts of different lengths.
func nestedRows() *data.Batch {
	b := &data.Batch{}
	for _, s := range []string{"the cat sat on the mat.", "a dog", "the dog saw the cat"} {
		for i := range len(s) - 1 {
			b.Tokens, b.Labels = append(b.Tokens, int32(s[i])), append(b.Labels, int32(s[i+1]))
		}
		b.Lens = append(b.Lens, len(s)-1)
	}
	b.Labels[2] = data.Ignored
	return b
}

// Gradients of a batch's shares add up to those of the whole batch, and a step
// against them lowers the loss as they predict.
func TestNestedGradients(t *testing.T) {
	t.Parallel()
	// Frozen levels keep gradients of one batch for the next.
	every := tinyNested()
	every.Periods = []int{1}
	whole, err := NewNested(every, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := NewNested(every, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := nestedRows()
	loss, err := whole.Backward(b, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{0.25, 0.75} {
		parts.builder.Conductor().Resume(0)
		if _, err := parts.Backward(b, share); err != nil {
			t.Fatal(err)
		}
	}
	var squares float64
	for i, p := range whole.Params() {
		for k, g := range p.Grad {
			squares += float64(g) * float64(g)
			if d := math.Abs(float64(g - parts.Params()[i].Grad[k])); d > 1e-4*(1+math.Abs(float64(g))) {
				t.Fatalf("%s[%d]: %v in parts, want %v", p.Name, k, parts.Params()[i].Grad[k], g)
			}
		}
	}
	before, err := whole.Loss(b)
	if err != nil || math.Abs(before-loss) > 0.1*loss {
		t.Errorf("the loss is %v without gradients and %v with: %v", before, loss, err)
	}
	const step = 1e-3
	for _, p := range whole.Params() {
		for k, g := range p.Grad {
			p.Value[k] -= step * g
		}
	}
	after, err := whole.Loss(b)
	if err != nil || math.Abs((before-after)/(step*squares)-1) > 0.3 {
		t.Errorf("the loss fell by %v, want nearly %v: %v", before-after, step*squares, err)
	}
}

// TestLossOfCounted: the loss of rows whose chunks count differently many positions is
// the mean of what each of them loses.
func TestLossOfCounted(t *testing.T) {
	t.Parallel()
	m, b := newNested(t, 3), nestedRows()
	for _, ignored := range [][2]int{{1, 6}, {12, 17}, {18, 22}, {25, 27}} { // first, middle and last chunks
		for i := ignored[0]; i < ignored[1]; i++ {
			b.Labels[i] = data.Ignored
		}
	}
	got, err := m.Loss(b)
	if err != nil {
		t.Fatal(err)
	}
	alone, want := *b, 0.0
	for i, label := range b.Labels {
		if label == data.Ignored {
			continue
		}
		alone.Labels = slices.Repeat([]int32{data.Ignored}, len(b.Labels))
		alone.Labels[i] = label
		l, err := m.Loss(&alone)
		if err != nil {
			t.Fatal(err)
		}
		want += l / float64(b.Counted())
	}
	if math.Abs(got-want) > 1e-5*want {
		t.Errorf("the loss is %v, want %v", got, want)
	}
}

type oneBatch struct{ b *data.Batch }

func (o oneBatch) Next(b *data.Batch) error { *b = *o.b; return nil }
func (o oneBatch) Cursor() string           { return "" }
func (o oneBatch) Seek(string) error        { return nil }

func learnNested(t *testing.T, m *Nested, dir string, steps int, resume bool) *Result {
	t.Helper()
	cfg := Config{Rate: 0.01, Clip: 1, Steps: steps, Schedule: grad.Schedule{Curve: grad.Constant}, SnapshotEvery: 5, Dir: dir, Resume: resume, FS: faultfs.NoSync()}
	res, err := Run(t.Context(), cfg, m, oneBatch{nestedRows()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A model learns, and resumes to the same bits.
func TestNestedFolder(t *testing.T) {
	t.Parallel()
	whole := newNested(t, 3)
	if res := learnNested(t, whole, t.TempDir(), 60, false); res.Loss > 2 {
		t.Errorf("after 60 steps the loss is %v", res.Loss)
	}
	dir := t.TempDir()
	learnNested(t, newNested(t, 3), dir, 23, false)
	m := newNested(t, 3)
	learnNested(t, m, dir, 60, true)
	for i, p := range m.Params() {
		if !slices.Equal(p.Value, whole.Params()[i].Value) {
			t.Fatalf("%s differs after a resumed run", p.Name)
		}
	}
	if all, trained := m.Size(); all != trained || all == 0 {
		t.Errorf("%d values, %d trained", all, trained)
	}

	var state bytes.Buffer
	if err := m.Save(&state); err != nil || newNested(t, 2).Restore(&state) == nil {
		t.Errorf("another number of lanes is restored: %v", err)
	}
}

// TestFrozenShare: what a frozen level has buffered is part of the loss of the batch
// that it is from, whatever chunk and batch it is released in.
func TestFrozenShare(t *testing.T) {
	t.Parallel()
	const name = "layers.0.levels.1.W_Q"
	row := func(s string, ignored int) *data.Batch { // of 9 positions: chunks of 6 and 3
		b := &data.Batch{Lens: []int{len(s) - 1}}
		for i := range len(s) - 1 {
			b.Tokens, b.Labels = append(b.Tokens, int32(s[i])), append(b.Labels, int32(s[i+1]))
		}
		for i := range ignored {
			b.Labels[i] = data.Ignored
		}
		return b
	}
	of := func(m *Nested) (at int, g []float32) {
		for _, p := range m.model.Params() {
			if p.Name == name {
				return at, p.Grad
			}
			at += len(p.Value)
		}
		t.Fatal("no " + name)
		return 0, nil
	}
	for _, c := range []struct {
		ignored int
		share   float64
		want    float64
	}{{0, 1, 3. / 9}, {4, 1, 3. / 5}, {0, .25, .25 * 3 / 9}, {6, .5, .5}} {
		first, second := row("abcdefghij", c.ignored), row("qwertyuiop", 2)
		after := newNested(t, 1)
		if _, err := after.Backward(first, c.share); err != nil {
			t.Fatal(err)
		}
		for _, p := range after.model.Params() {
			clear(p.Grad)
		}
		alone := newNested(t, 1) // the same second batch, with nothing buffered
		alone.builder.Conductor().Resume(2)
		for _, m := range []*Nested{after, alone} {
			if _, err := m.Backward(second, .75); err != nil {
				t.Fatal(err)
			}
		}
		// The frozen chunk's own gradient, of the mean loss of its positions.
		r, err := alone.model.NewRunner(true, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx := alone.model.NewContext()
		all, _ := alone.Size()
		g := make([]float32, all)
		if _, err := r.Forward(nested.NewPulse(0, nested.Build, true, true), ctx, first.Tokens[:6], first.Labels[:6], make([]float32, all)); err != nil {
			t.Fatal(err)
		}
		r.Commit()
		if _, err := r.Forward(nested.NewPulse(1, nested.Build, true, false), ctx, first.Tokens[6:], first.Labels[6:], g); err != nil {
			t.Fatal(err)
		}
		if err := r.Backward(1); err != nil {
			t.Fatal(err)
		}
		at, got := of(after)
		_, without := of(alone)
		var along, length float64
		for i := range got {
			along += float64(got[i]-without[i]) * float64(g[at+i])
			length += float64(g[at+i]) * float64(g[at+i])
		}
		if w := along / length; math.Abs(w-c.want) > 1e-3*c.want {
			t.Errorf("%d labels ignored, a share of %v: the frozen chunk has a weight of %v, want %v", c.ignored, c.share, w, c.want)
		}
	}
}
