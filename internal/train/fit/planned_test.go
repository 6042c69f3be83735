package fit

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/model/lora"
	"atenia/internal/store/faultfs"
	"atenia/internal/train"
	"atenia/internal/train/data"
)

var sizes = Sizes{Vocabulary: 40, Hidden: 16, Layers: 2, Heads: 2, KVHeads: 1, FFN: 24, Context: 16, RopeTheta: 10000, NormEps: 1e-5}

func tinyModel(t *testing.T, s Sizes, opt ModelOptions) *Model {
	t.Helper()
	config, err := s.Config()
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(config, opt)
	if err != nil {
		t.Fatal(err)
	}
	m.Init(7, 0.05)
	return m
}

// counting is a source of rows of consecutive numbers.
type counting struct{ at int32 }

func (c *counting) Next(b *data.Batch) error {
	*b = data.Batch{}
	for k := range int32(3) {
		for i := range int32(10) {
			b.Tokens = append(b.Tokens, (c.at+7*k+i)%40)
			b.Labels = append(b.Labels, (c.at+7*k+i+1)%40)
		}
		b.Lens = append(b.Lens, 10)
	}
	c.at += 3
	return nil
}
func (c *counting) Cursor() string    { return "" }
func (c *counting) Seek(string) error { c.at = 0; return nil }

func learn(t *testing.T, m *Model, p *grad.Threads, steps int) *train.Result {
	t.Helper()
	cfg := train.Config{Rate: 0.01, Clip: 1, Steps: steps, Schedule: grad.Schedule{Curve: grad.Constant}, Dir: t.TempDir(), FS: faultfs.NoSync(), Threads: p}
	res, err := train.Run(t.Context(), cfg, m, &counting{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A model initialized at random begins at the loss of a uniform guess and learns to
// count; the exported model is the same. Threads and recomputation change no bit.
func TestModel(t *testing.T) {
	t.Parallel()
	for _, untied := range []bool{false, true} {
		s := sizes
		s.Untied = untied
		m := tinyModel(t, s, ModelOptions{})
		var b data.Batch
		if err := new(counting).Next(&b); err != nil {
			t.Fatal(err)
		}
		first, err := m.Loss(&b)
		if err != nil || math.Abs(first-math.Log(40)) > 0.2 {
			t.Errorf("the first loss is %v, want nearly %v: %v", first, math.Log(40), err)
		}
		if res := learn(t, m, nil, 60); res.Loss > 0.7 {
			t.Errorf("after 60 steps the loss is %v", res.Loss)
		}
		threads := grad.NewThreads(3)
		defer threads.Close()
		other := tinyModel(t, s, ModelOptions{Threads: threads, Recompute: true})
		learn(t, other, threads, 60)
		for i, p := range m.Params() {
			if !slices.Equal(p.Value, other.Params()[i].Value) {
				t.Fatalf("%s depends on threads, or on computing twice", p.Name)
			}
		}
		dir := t.TempDir()
		if err := m.Export(nil, dir); err != nil {
			t.Fatal(err)
		}
		back, err := openModel(dir, ModelOptions{BF16: true})
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.Loss(&b)
		got, err2 := back.Loss(&b)
		if err != nil || err2 != nil || got != want {
			t.Errorf("exported and opened: the loss is %v, want %v; %v %v", got, want, err, err2)
		}
		if all, trained := back.Size(); all != trained || back.Vocabulary() != 40 {
			t.Errorf("%d values, %d trained, %d tokens", all, trained, back.Vocabulary())
		}
		half := t.TempDir()
		if err := back.Export(nil, half); err != nil {
			t.Fatal(err)
		}
		if a, b := size(t, dir), size(t, half); b > a/2+2000 {
			t.Errorf("as bfloat16 it takes %d bytes of %d", b, a)
		}
	}
}

func size(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// First parameters depend on the seed and the tensor's name, and those that
// write to the residual stream are smaller.
func TestInit(t *testing.T) {
	t.Parallel()
	s := sizes
	s.Hidden, s.FFN, s.Layers = 64, 96, 8
	m, same, other := tinyModel(t, s, ModelOptions{}), tinyModel(t, s, ModelOptions{}), tinyModel(t, s, ModelOptions{})
	other.Init(8, 0.05)
	for i, p := range m.Params() {
		if !slices.Equal(p.Value, same.Params()[i].Value) {
			t.Errorf("%s differs for the same seed", p.Name)
		}
		var squares float64
		for _, x := range p.Value {
			squares += float64(x) * float64(x)
		}
		deviation, want := math.Sqrt(squares/float64(len(p.Value))), 0.05
		switch {
		case len(p.Shape) == 1:
			want = 1
		case slices.Contains([]string{"o_proj", "down_proj"}, part(p.Name)):
			want /= 4 // √(2·8)
		}
		if math.Abs(deviation/want-1) > 0.06 {
			t.Errorf("%s has deviation %v, want %v", p.Name, deviation, want)
		}
		if len(p.Shape) == 2 && slices.Equal(p.Value, other.Params()[i].Value) {
			t.Errorf("%s is the same for another seed", p.Name)
		}
		if isTable(p.Name) != p.Table || p.Table != (part(p.Name) == "embed_tokens") {
			t.Errorf("%s is a table: %v", p.Name, p.Table)
		}
	}
}

// part is the last but one part of a tensor's name.
func part(name string) string {
	ext := filepath.Ext(name)
	name = name[:len(name)-len(ext)]
	return filepath.Ext("." + name)[1:]
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Sizes){func(s *Sizes) { s.Heads = 3 }, func(s *Sizes) { s.KVHeads = 0 }, func(s *Sizes) { s.Vocabulary = 0 }} {
		s := sizes
		change(&s)
		if _, err := s.Config(); !errors.Is(err, errSize) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestBalance checks that the auxiliary loss of a mixture of experts reaches
// gradients, its routers' above all, and no evaluation.
func TestBalance(t *testing.T) {
	var b data.Batch
	if err := (&counting{}).Next(&b); err != nil {
		t.Fatal(err)
	}
	run := func(balance float64) (recorded, plain float64, routers []float32) {
		m, err := openModel(filepath.Join("..", "..", "..", "testdata", "golden", "train", "qwen3_moe"), ModelOptions{Balance: balance})
		if err != nil {
			t.Fatal(err)
		}
		if recorded, err = m.Backward(&b, 1); err != nil {
			t.Fatal(err)
		}
		if plain, err = m.Loss(&b); err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			if strings.HasSuffix(p.Name, "mlp.gate.weight") {
				routers = append(routers, p.Grad...)
			}
		}
		return recorded, plain, routers
	}
	without, plain, r0 := run(0)
	with, still, r1 := run(0.1)
	if len(r0) == 0 || slices.Equal(r0, r1) {
		t.Errorf("%d gradients of routers do not change", len(r0))
	}
	if plain != without || still != plain || with <= without {
		t.Errorf("without it %v and %v, with it %v and %v", without, plain, with, still)
	}
}

// Dropout of low-rank pairs acts in training, and not in evaluation.
func TestDropout(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := tinyModel(t, sizes, ModelOptions{}).Export(nil, folder); err != nil {
		t.Fatal(err)
	}
	var trained [2][]float32
	for i, dropout := range []float64{0, 0.5} {
		base, err := openModel(folder, ModelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := adapt(base, lora.Config{Rank: 4, Base: folder, Dropout: dropout}, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		var b data.Batch
		if err := new(counting).Next(&b); err != nil {
			t.Fatal(err)
		}
		one, err := m.Loss(&b)
		if again, err2 := m.Loss(&b); err != nil || err2 != nil || one != again || math.Abs(one-math.Log(40)) > 0.2 {
			t.Errorf("dropout %v: losses of %v and %v, %v, %v", dropout, one, again, err, err2)
		}
		if _, err := train.Run(t.Context(), train.Config{Rule: grad.SGD{}, Rate: 1, Steps: 1, Accumulate: 1, Dir: t.TempDir(), FS: faultfs.NoSync()}, m, &counting{}, nil); err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			trained[i] = append(trained[i], p.Value...)
		}
		if err := base.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Equal(trained[0], trained[1]) {
		t.Error("a step with dropout is one without")
	}
}
