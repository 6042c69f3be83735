package tape_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"
	"atenia/tensor"
)

// A shelf is a pager: it holds the values and the gradients, and copies them in
// and out.
type shelf struct {
	t      *testing.T
	blocks [][]*tape.Param[float32]
	values map[string][]float32
	grads  map[string][]float32
	inside int // the block that was entered
}

func (s *shelf) Enter(block int, back bool) error {
	if s.inside >= 0 {
		s.t.Errorf("block %d is entered inside of block %d", block, s.inside)
	}
	s.inside = block
	for _, p := range s.blocks[block] {
		p.Value = slices.Clone(s.values[p.Name])
		if back && !p.Frozen() {
			p.Grad = slices.Clone(s.grads[p.Name])
		}
	}
	return nil
}

func (s *shelf) Leave(block int, back bool) error {
	s.inside = -1
	for _, p := range s.blocks[block] {
		if back && !p.Frozen() {
			s.grads[p.Name] = p.Grad
		}
		for i := range p.Value {
			p.Value[i] = float32(math.NaN()) // what is used after Leave shows
		}
		p.Value, p.Grad = nil, nil
	}
	return nil
}

// TestBlocks trains the golden models block by block: losses and gradients of two
// accumulated batches are the bits of the whole model's, whatever is kept, and
// with frozen tensors and low-rank pairs.
func TestBlocks(t *testing.T) {
	for _, name := range golden.Dirs(t, golden.Family(t, "train")) {
		dir := filepath.Join(golden.Family(t, "train"), name)
		for _, keep := range []int{0, 1, 99} {
			for _, lora := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/keep %d/lora %v", name, keep, lora), func(t *testing.T) {
					t.Parallel()
					var f fixture
					golden.JSON(t, filepath.Join(dir, "fixture.json"), &f)
					blockwise(t, dir, f.AuxCoef, keep, lora, func(_ *compile.Model, k int) *tape.Batch { return f.batch(k) })
				})
			}
		}
	}
}

// TestBlocksOfSenses does the same for models of images and sounds.
func TestBlocksOfSenses(t *testing.T) {
	for _, name := range []string{"qwen2_vl", "gemma3_vl", "mistral3", "whisper"} {
		for _, lora := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lora %v", name, lora), func(t *testing.T) {
				t.Parallel()
				blockwise(t, filepath.Join(golden.Family(t, "parity"), name), 0, 1, lora, func(c *compile.Model, k int) *tape.Batch {
					b := randomBatch(c.Config.Vocab)
					if a := c.Config.Audio; a != nil {
						hear(b, a.Rows, c.Config.Hidden)
					} else if k == 1 {
						see(b, len(c.Config.Vision.Deepstack), c.Config.Hidden)
					}
					return b
				})
			})
		}
	}
}

func blockwise(t *testing.T, dir string, balance float64, keep int, lora bool, batch func(c *compile.Model, k int) *tape.Batch) {
	d, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) (tensor.View, bool) {
		x, ok := d.Tensor(name)
		if !ok {
			return tensor.View{}, false
		}
		return x.View, true
	}
	whole, err := tape.NewParams[float32](c, find)
	if err != nil {
		t.Fatal(err)
	}
	paged, err := tape.NewPagedParams[float32](c, func(name string) (tensor.Shape, bool) { v, ok := find(name); return v.Shape, ok })
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{t: t, values: map[string][]float32{}, grads: map[string][]float32{}, inside: -1}
	for _, p := range whole.All() {
		s.values[p.Name], s.grads[p.Name] = slices.Clone(p.Value), make([]float32, len(p.Value))
	}
	if lora {
		for _, ps := range []*tape.Params[float32]{whole, paged} {
			pairs(t, ps)
		}
	}
	a, b := bindModel(t, c, whole), bindModel(t, c, paged)
	a.Balance, b.Balance = balance, balance
	s.blocks = b.Blocks()
	b.Keep(func(i int) bool { return len(s.blocks)-1-i <= keep })
	tp := grad.New(a.Registry())
	for k := range 2 {
		tp.Reset()
		ref, err := a.Loss(tp, batch(c, k))
		if err == nil {
			err = tp.BackwardFrom(ref, []float32{0.5})
		}
		if err != nil {
			t.Fatal(err)
		}
		want := tp.Value(ref)[0]
		alone, err := b.PagedLoss(s, batch(c, k))
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.PagedBackward(s, batch(c, k), 0.5)
		if err != nil {
			t.Fatal(err)
		}
		if got != want || b.Balance == 0 && alone != want {
			t.Errorf("batch %d: loss %v, forward alone %v, want %v", k, got, alone, want)
		}
	}
	for i, p := range whole.All() {
		got := paged.All()[i].Grad
		if got == nil {
			got = s.grads[p.Name]
		}
		if !p.Frozen() && !slices.Equal(got, p.Grad) {
			t.Errorf("the gradient of %s differs", p.Name)
		}
	}
}

func bindModel(t *testing.T, c *compile.Model, p *tape.Params[float32]) *tape.Model[float32] {
	t.Helper()
	m, err := tape.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pairs freezes all tensors and gives each matrix of attention a low-rank pair.
func pairs(t *testing.T, ps *tape.Params[float32]) {
	t.Helper()
	ps.Train(func(*tape.Param[float32]) bool { return false })
	for _, p := range slices.Clone(ps.All()) {
		if len(p.Shape) != 2 || !strings.Contains(p.Name, "_attn") {
			continue
		}
		half := func(name string, shape ...int) *tape.Param[float32] {
			v := make([]float32, shape[0]*shape[1])
			for i := range v {
				v[i] = float32(i%7)/10 - 0.3
			}
			return &tape.Param[float32]{Name: p.Name + name, Shape: shape, Value: v}
		}
		if err := ps.Attach(p.Name, tape.LoRA[float32]{A: half(".A", 2, p.Shape[1]), B: half(".B", p.Shape[0], 2), Scale: 0.5}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagedBytes checks that the bounds hold and that they are no idle ones.
func TestPagedBytes(t *testing.T) {
	growing := []int{100, 400, 700} // longer and longer batches must not add up
	if await.Long() {
		growing = []int{100, 200, 300, 400, 500, 600, 700}
	}
	var dirs []string
	for _, name := range golden.Dirs(t, golden.Family(t, "train")) {
		dirs = append(dirs, filepath.Join(golden.Family(t, "train"), name))
	}
	for _, name := range []string{"distilbert", "gemma_embedding", "bert_rerank"} {
		dirs = append(dirs, filepath.Join(golden.Root(t), "testdata", "golden", "parity", name))
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			d, err := file.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			c, err := compile.Compile(d, compile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := &shelf{t: t, values: map[string][]float32{}, grads: map[string][]float32{}, inside: -1}
			ps, err := tape.NewPagedParams[float32](c, func(name string) (tensor.Shape, bool) { x, ok := d.Tensor(name); return x.View.Shape, ok })
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range ps.All() {
				v := make([]float32, p.Len())
				for i := range v {
					v[i] = float32(i%13-6) / 50
				}
				s.values[p.Name], s.grads[p.Name] = v, make([]float32, len(v))
			}
			m := bindModel(t, c, ps)
			s.blocks = m.Blocks()
			b := &tape.Batch{Lens: []int{900, 700}}
			for i := range 1600 {
				b.Tokens, b.Labels = append(b.Tokens, int32(i%7)), append(b.Labels, int32((i+1)%7))
			}
			m.Rows = len(b.Tokens)
			part := func(n int) *tape.Batch {
				return &tape.Batch{Tokens: b.Tokens[:900+n], Labels: b.Labels[:900+n], Lens: []int{900, n}}
			}
			if e := c.Config.Encoder; e != nil { // of so many positions
				m.Documents = 32
				part = func(n int) *tape.Batch {
					x := &tape.Batch{Tokens: b.Tokens[:900+n], Labels: b.Labels[:900+n]}
					for left := 900 + n; left > 0; left -= 50 {
						x.Lens = append(x.Lens, min(left, 50))
						if i := len(x.Lens) - 1; e.Labels > 0 {
							x.Targets = append(x.Targets, float32(i%2))
						} else if x.Answers = append(x.Answers, -1); i%2 > 0 {
							x.Answers[i] = int32(i - 1)
						}
					}
					return x
				}
			}
			edges := int64(0)
			m.Alloc = func(n int) ([]float32, error) { edges += 4 * int64(n); return make([]float32, n), nil }
			for _, kept := range []int{0, len(s.blocks) - 1} {
				m.Keep(func(i int) bool { return len(s.blocks)-1-i <= kept && kept > 0 })
				for _, n := range growing {
					if _, err := m.PagedBackward(s, part(n), 1); err != nil {
						t.Fatal(err)
					}
				}
				limit := m.PagedBytes(m.Rows)
				if got, most := edges+m.HeldBytes(), limit.All(kept); got > most || 2*got < most {
					t.Errorf("%d blocks kept: %d bytes, bound %d", kept, got, most)
				}
			}
		})
	}
}
