package conform

import (
	"context"
	"fmt"
	"iter"
	"math"

	"atenia/grad"
	"atenia/internal/train/offload"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
	"atenia/quila/internal/weights"
)

// textbook is AdamW with decoupled decay, in the order of Loshchilov and Hutter's
// algorithm 2, with bias-corrected moments.
func textbook(w, m, v []float64, g []float64, step int, lr, b1, b2, eps, decay float64) {
	for i := range w {
		m[i] = b1*m[i] + (1-b1)*g[i]
		v[i] = b2*v[i] + (1-b2)*g[i]*g[i]
		mh := m[i] / (1 - math.Pow(b1, float64(step)))
		vh := v[i] / (1 - math.Pow(b2, float64(step)))
		w[i] -= lr * (mh/(math.Sqrt(vh)+eps) + decay*w[i])
	}
}

func optimizer(t *report) {
	const n, steps, lr, b1, b2, eps = 257, 10, 3e-3, .9, .98, 1e-8
	for _, decay := range []float64{0, .01} {
		start, grads := make([]float64, n), make([]float64, n*steps)
		weights.Stream{Seed: 1, Site: weights.InitSite}.Normal(start)
		weights.Stream{Seed: 2, Site: weights.InitSite}.Normal(grads)
		w, m, v := append([]float64(nil), start...), make([]float64, n), make([]float64, n)
		p64 := &grad.Param[float64]{Name: "w", Shape: []int{1, n}, Value: append([]float64(nil), start...), Grad: make([]float64, n)}
		p32 := &grad.Param[float32]{Name: "w", Shape: []int{1, n}, Value: make([]float32, n), Grad: make([]float32, n)}
		for i, x := range start {
			p32.Value[i] = float32(x)
		}
		rule := grad.AdamW{Beta1: b1, Beta2: b2, Epsilon: eps, Decay: decay}
		o64, err := grad.NewOptimizer[float64](rule, []*grad.Param[float64]{p64}, nil)
		t.Must(err)
		o32, err := grad.NewOptimizer[float32](rule, []*grad.Param[float32]{p32}, nil)
		t.Must(err)
		for s := range steps {
			g := grads[s*n : (s+1)*n]
			textbook(w, m, v, g, s+1, lr, b1, b2, eps, decay)
			for i, x := range g {
				p64.Grad[i], p32.Grad[i] = x, float32(x)
			}
			o64.Step(lr, 1)
			o32.Step(lr, 1)
		}
		var worst64, worst32 float64
		for i := range w {
			worst64 = math.Max(worst64, math.Abs(p64.Value[i]-w[i]))
			worst32 = math.Max(worst32, math.Abs(float64(p32.Value[i])-w[i]))
			worst64 = math.Max(worst64, math.Max(math.Abs(o64.State(0)[0][i]-m[i]), math.Abs(o64.State(0)[1][i]-v[i])))
		}
		t.Within(fmt.Sprintf("float64 with decay %g", decay), worst64, 1e-10)
		t.Within(fmt.Sprintf("float32 with decay %g", decay), worst32, 5e-5)
		t.Figure("decay %g: %.1g in float64, %.1g in float32", decay, worst64, worst32)
	}
}

// offloaded trains a network with its moments in memory and another of the same
// seed with weights and moments in files, through buffers of a few kilobytes, and
// reopens the files before every step.
func offloaded(t *report) {
	const steps, rate = 4, 7e-3
	inRAM, onDisk := tinyNetwork(t, 3), tinyNetwork(t, 3)
	params := inRAM.Params()
	opt, err := grad.NewOptimizer[float32](grad.AdamW{Beta1: .9, Beta2: .98, Decay: .01}, params, nil)
	t.Must(err)
	var layers []offload.Layer
	for _, p := range onDisk.Params() {
		layers = append(layers, offload.Layer{Name: p.Name, Elements: len(p.Value), NoDecay: len(p.Shape) < 2})
	}
	cfg := offload.Config{Optimizer: offload.Optimizer{Beta1: .9, Beta2: .98, Decay: .01}, ChunkBytes: 16 << 10, Buffers: 3, SumBytes: 64 << 10}
	dir := t.Dir()
	_, err = offload.Create(context.Background(), dir, layers, cfg, func(layer, offset int, dst []float32) error {
		copy(dst, onDisk.Params()[layer].Value[offset:])
		return nil
	})
	t.Must(err)
	a, b := inRAM.Open(2, true), onDisk.Open(2, true)
	text := school.MakeToy(4, 400).Text
	var written uint64
	for step := range steps {
		codes := windows(text, 2, 10, step*10)
		gradients(t, inRAM, a, codes)
		opt.Step(rate, 1)
		inRAM.Changed()

		gradients(t, onDisk, b, codes)
		s, err := offload.Open(dir, cfg)
		t.Must(err)
		backward := func(yield func(offload.Gradient, error) bool) {
			for i := len(onDisk.Params()) - 1; i >= 0; i-- {
				if !yield(offload.Gradient{Layer: i, Values: onDisk.Params()[i].Grad}, nil) {
					return
				}
			}
		}
		r, err := s.Step(context.Background(), iter.Seq2[offload.Gradient, error](backward), offload.Update{LR: rate, Scale: 1})
		t.Must(err)
		written += r.WrittenBytes
		buffer := make([]byte, s.ReadBytes()+pageBytes)
		for i, p := range onDisk.Params() {
			t.Must(s.Read(context.Background(), i, p.Value, false, alignedThoughts(buffer, s.ReadBytes())))
		}
		onDisk.Changed()
	}
	differ := 0
	for i, p := range params {
		for k, x := range p.Value {
			if math.Float32bits(x) != math.Float32bits(onDisk.Params()[i].Value[k]) {
				differ++
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d weights differ after %d steps", differ, steps)
	}
	t.Figure("%d tensors, %d steps, %d KiB written, 0 bits differ", len(params), steps, written>>10)
}

const pageBytes = 4096

// gradients runs a window from zero gradients.
func gradients(t *report, n *network.Network[float32], s *network.Stream[float32], codes []int32) {
	for _, p := range n.Params() {
		clear(p.Grad)
	}
	_, err := s.Window(codes, nil)
	t.Must(err)
}

// windows cuts a window of every row out of a text.
func windows(text []byte, rows, steps, at int) []int32 {
	n := len(text) / rows
	out := make([]int32, 0, rows*(steps+1))
	for r := range rows {
		for k := range steps + 1 {
			out = append(out, int32(text[r*n+at+k]))
		}
	}
	return out
}
