package boundary

import (
	"math"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// A critic tells patches of pictures from patches of what a decoder drew: three
// 4×4 convolutions, the last of which gives one number for a patch (P. Isola et
// al., PatchGAN, arXiv 1611.07004).
type critic struct {
	layers []*layer
	opt    *grad.Optimizer[float32]
	params []*grad.Param[float32]
}

func newCritic(channels int, rate float64, s weights.Stream, threads *grad.Threads) (*critic, error) {
	d := &critic{}
	for i, k := range []conv{{in: channels, out: 32, kernel: 4, stride: 2, pad: 1, up: 1}, {in: 32, out: 64, kernel: 4, stride: 2, pad: 1, up: 1},
		{in: 64, out: 1, kernel: 4, stride: 1, pad: 1, up: 1}} {
		n := k.out * k.columns()
		l := &layer{conv: k}
		l.w = &grad.Param[float32]{Name: "w", Shape: []int{k.out, k.columns()}, Value: make([]float32, n), Grad: make([]float32, n)}
		l.b = &grad.Param[float32]{Name: "b", Shape: []int{k.out}, Value: make([]float32, k.out), Grad: make([]float32, k.out)}
		s.Tick = uint64(1000 + i)
		normal(l.w.Value, math.Sqrt(1/float64(k.columns())), s)
		d.layers = append(d.layers, l)
		d.params = append(d.params, l.w, l.b)
	}
	var err error
	d.opt, err = grad.NewOptimizer(grad.AdamW{Beta1: .5, Beta2: .9}, d.params, threads)
	return d, err
}

// judge records how real the patches of pictures look: more is better.
func (d *critic) judge(t *grad.Tape[float32], e *engine[float32], x grad.Ref, batch, side int) grad.Ref {
	p := &pass{t, e, d.layers, batch, side}
	h := t.SiLU(p.next(x))
	return p.next(t.SiLU(p.next(h)))
}

// learn takes a step: what is real should score high, what was drawn low.
func (d *critic) learn(t *grad.Tape[float32], e *engine[float32], real, drawn []float32, batch, side, channels int, rate float64) error {
	t.Reset()
	for _, p := range d.params {
		clear(p.Grad)
	}
	bind(t, d.layers, true)
	a := d.judge(t, e, t.Const(real, batch*side*side, channels), batch, side)
	b := d.judge(t, e, t.Const(drawn, batch*side*side, channels), batch, side)
	loss := t.Add(t.Sum(t.Softplus(t.Neg(a))), t.Sum(t.Softplus(b)))
	if err := t.Backward(t.Scale(loss, 1/float32(len(t.Value(a))))); err != nil {
		return err
	}
	d.opt.Step(rate, 1)
	return nil
}
