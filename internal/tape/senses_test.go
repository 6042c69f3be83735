package tape_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/plan"
	"atenia/internal/tape"
	"atenia/tensor"
)

func normals(n int) []float32 {
	rng, v := rand.New(rand.NewPCG(8, uint64(n))), make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// hear adds a random source to each document.
func hear(b *tape.Batch, rows, width int) {
	for i := range b.Lens {
		b.Sources = append(b.Sources, normals((rows + i) * width)[i*width:])
	}
}

// see adds random rows of three images to a [randomBatch], two of them side by side, and
// random places of all rows.
func see(b *tape.Batch, deep, width int) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, at := range [][2]int{{1, 2}, {7, 1}, {8, 3}} {
		p := tape.Image{At: at[0], Len: at[1], Rows: normals(at[1] * width)}
		for i := range deep {
			p.Deep = append(p.Deep, normals((at[1] + i + 1) * width)[:len(p.Rows)])
		}
		b.Images = append(b.Images, p)
	}
	for range b.Tokens {
		b.Places = append(b.Places, [3]int32{rng.Int32N(9), rng.Int32N(9), rng.Int32N(9)})
	}
}

// heard is how many rows the sources of sketches have.
const heard = 7

// senses adds what a sketch reads besides tokens to a batch.
func senses(b *tape.Batch, p *plan.ExecutionPlan) {
	deep := 0
	has := func(op plan.Opcode) (n int) {
		for i := range p.Instructions {
			if p.Instructions[i].Op == op {
				n++
			}
		}
		return n
	}
	if has(plan.OpCrossAttn) > 0 {
		hear(b, heard, width)
	}
	if deep = has(plan.OpDeepstackInject); has(plan.OpVisionScatter) > 0 {
		see(b, deep, width)
	}
}

// input declares an input of a plan besides tokens and rows.
func (k *sketch) input(name string, dtype tensor.DType, cols uint32) plan.RegisterRef {
	r := plan.RegisterRef(len(k.c.Plan.Registers))
	rank := uint8(2)
	if dtype == tensor.I32 {
		rank = 1
	}
	k.c.Plan.Registers = append(k.c.Plan.Registers, plan.RegSpec{Name: name, DType: dtype, Rank: rank, Rows: plan.RowsTokens, Cols: cols})
	k.c.Plan.Inputs = append(k.c.Plan.Inputs, r)
	return r
}

// seeing puts rows of images among those of an embedding.
func (k *sketch) seeing() plan.RegisterRef {
	image, index := k.input("image", tensor.F32, width), k.input("index", tensor.I32, 1)
	return k.op(plan.OpVisionScatter, &plan.ScatterParams{}, reg(k.embed(1), image, index), []int{width}, nil)
}

func (k *sketch) inject(x plan.RegisterRef, layer uint32) plan.RegisterRef {
	deep, index := k.input("deep", tensor.F32, width), k.input("index", tensor.I32, 1)
	return k.op(plan.OpDeepstackInject, &plan.ScatterParams{Index: layer}, reg(x, deep, index), []int{width}, nil)
}

func crossOf(k *sketch, x plan.RegisterRef, bias bool) plan.RegisterRef {
	p := plan.AttentionParams{Heads: 4, KVHeads: 2, HeadDim: 6, Window: heard, Scale: 0.4}
	w := slots{"q": {24, width}, "k": {12, width}, "v": {12, width}, "o": {width, 24}}
	if bias {
		w["q_bias"], w["v_bias"], w["o_bias"] = tensor.Shape{24}, tensor.Shape{12}, tensor.Shape{width}
	}
	return k.add(x, k.op(plan.OpCrossAttn, &p, reg(x), []int{width}, w), 1)
}

// seeingAndHearing has the opcodes of images and sounds.
func seeingAndHearing(k *sketch) {
	x := attentionOf(k, k.seeing(), plan.AttentionParams{KVHeads: 2, Images: 1, Window: 3, RopeStyle: plan.RopeMInterleaved, RopeDim: 6, MropeT: 1, MropeH: 1, MropeW: 1}, slots{"inv_freq": {3}})
	k.layer = 1
	x = k.inject(ffnOf(k, x, plan.ActSiLU, 1, false), 0)
	k.layer = 2
	x = attentionOf(k, crossOf(k, x, true), plan.AttentionParams{KVHeads: 2, RopeStyle: plan.RopeMBlocks, RopeDim: 6, MropeT: 1, MropeH: 1, MropeW: 1}, slots{"inv_freq": {3}})
	k.done(k.inject(x, 1))
}

func init() {
	opcodes["vision_scatter"] = func(k *sketch) { k.done(ffnOf(k, k.seeing(), plan.ActSiLU, 1, false)) }
	opcodes["deepstack_inject"] = func(k *sketch) {
		x := k.inject(ffnOf(k, k.seeing(), plan.ActSiLU, 1, false), 0)
		k.layer = 1
		k.done(k.inject(ffnOf(k, x, plan.ActSiLU, 1, false), 1))
	}
	opcodes["attention/images"] = func(k *sketch) {
		k.done(attentionOf(k, k.seeing(), plan.AttentionParams{KVHeads: 2, Images: 1}, nil))
	}
	opcodes["attention/images_window_softcap"] = func(k *sketch) {
		k.done(attentionOf(k, k.seeing(), plan.AttentionParams{KVHeads: 2, Images: 1, Window: 2, Softcap: 1.5}, nil))
	}
	for name, style := range map[string]uint32{"blocks": plan.RopeMBlocks, "interleaved": plan.RopeMInterleaved} {
		opcodes["attention/rope/m_"+name] = func(k *sketch) {
			k.done(attentionOf(k, k.seeing(), plan.AttentionParams{KVHeads: 2, RopeStyle: style, RopeDim: 6, MropeT: 1, MropeH: 1, MropeW: 1}, slots{"inv_freq": {3}}))
		}
	}
	opcodes["cross_attention"] = func(k *sketch) { k.done(crossOf(k, k.embed(1), false)) }
	opcodes["cross_attention/bias"] = func(k *sketch) { k.done(crossOf(k, k.embed(1), true)) }
	opcodes["images_and_sounds"] = seeingAndHearing
}

// TestBadSenses: rows of images and sounds that do not fit a batch are errors.
func TestBadSenses(t *testing.T) {
	k := newSketch(t)
	seeingAndHearing(k)
	r := open[float64](t, &k.m, k.find, nil)
	for name, spoil := range map[string]func(b *tape.Batch){
		"a row too few":      func(b *tape.Batch) { b.Images[1].Rows = b.Images[1].Rows[width:] },
		"a layer too few":    func(b *tape.Batch) { b.Images[0].Deep = b.Images[0].Deep[:1] },
		"a deep row too few": func(b *tape.Batch) { b.Images[0].Deep[1] = b.Images[0].Deep[1][1:] },
		"out of order":       func(b *tape.Batch) { b.Images[0].At = 8 },
		"across documents":   func(b *tape.Batch) { b.Images[0].At = 4 },
		"behind the end":     func(b *tape.Batch) { b.Images[2].At = 10 },
		"before the start":   func(b *tape.Batch) { b.Images[0].At = -1 },
		"a place too few":    func(b *tape.Batch) { b.Places = b.Places[1:] },
		"no sources":         func(b *tape.Batch) { b.Sources = nil },
		"a source too few":   func(b *tape.Batch) { b.Sources = b.Sources[1:] },
		"a short source":     func(b *tape.Batch) { b.Sources[1] = b.Sources[1][1:] },
	} {
		b := *r.batch
		b.Images, b.Sources = slices.Clone(b.Images), slices.Clone(b.Sources)
		for i := range b.Images {
			b.Images[i].Deep = slices.Clone(b.Images[i].Deep)
		}
		spoil(&b)
		if _, err := r.m.Loss(grad.New(r.m.Registry()), &b); !errors.Is(err, tape.ErrBatch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	plain := newSketch(t)
	everything(plain)
	q := open[float64](t, &plain.m, plain.find, nil)
	for _, b := range []*tape.Batch{{Images: r.batch.Images}, {Sources: r.batch.Sources}} {
		b.Tokens, b.Labels, b.Lens = r.batch.Tokens, r.batch.Labels, r.batch.Lens
		if _, err := q.m.Loss(grad.New(q.m.Registry()), b); !errors.Is(err, tape.ErrBatch) {
			t.Errorf("a model of texts: got %v", err)
		}
	}
}

// TestTextOfSeeing: a batch of texts alone may follow one with images, and counts
// positions as one with equal coordinates does.
func TestTextOfSeeing(t *testing.T) {
	k := newSketch(t)
	opcodes["attention/rope/m_interleaved"](k)
	r := open[float64](t, &k.m, k.find, nil)
	seen := r.loss()
	counted := *r.batch
	counted.Images, counted.Places = nil, nil
	for _, n := range counted.Lens {
		for i := range n {
			counted.Places = append(counted.Places, [3]int32{int32(i), int32(i), int32(i)})
		}
	}
	images := r.batch
	r.batch = &counted
	want := r.loss()
	text := counted
	text.Places = nil
	r.batch = &text
	if got := r.loss(); got != want || got == seen {
		t.Errorf("the loss of a text is %v, with places %v, with images %v", got, want, seen)
	}
	if r.batch = images; r.loss() != seen {
		t.Error("the loss of images depends on the batch before")
	}
}
