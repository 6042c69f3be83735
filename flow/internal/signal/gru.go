package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// Tables of a GRU in the order of the type's entry.
const (
	weightIn = iota
	weightHidden
	biasIn
	biasHidden
)

func refineGRU(n *graph.Node, _ node.Settings, spec *graph.Spec) error {
	wi, wh := spec.Params[weightIn].Value, spec.Params[weightHidden].Value
	hidden := wh.F
	for _, p := range spec.Params[:biasHidden+1] {
		v := p.Value
		if bias := p.Name == "bias_ih" || p.Name == "bias_hh"; v.B != 1 || bias && (v.F != 1 || v.C != 1 && v.C != 3*hidden) || !bias && v.C != 3*hidden {
			return node.Bad(n, p.Name, "weights are [1, 3 hidden, columns], biases [1, 3 hidden, 1]")
		}
	}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if wi.F != in[0].C {
			return nil, node.Mismatch(n, "weight_ih is [1, 3 hidden, in]")
		}
		return []graph.Shape{{B: in[0].B, C: hidden}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// A gru computes for each frame (Cho et al., Learning phrase representations
// using RNN encoder-decoder, 2014; with the reset after the product, as in
// cuDNN and PyTorch):
//
//	r, z = σ(Wi x + bi + Wh h + bh)    n = tanh(Wi x + bi + r (Wh h + bh))
//	h'   = (1-z) n + z h
type gru[F node.Float] struct {
	node.Reporter
	batches, in, hidden int
	h                   []F // [batches, hidden]
	x                   []F // [in] scratch: an input frame
	fromX, fromH        []F // [3 hidden] scratch: the two sums of a frame
	// For backward calls:
	before []F          // [batches, hidden] a snapshot
	lambda []F          // [batches, hidden] gradient at the state after the frame
	kept   []F          // [MaxTokens, batches, 5, hidden] h before, r, z, n, and Wh h + bh of n
	dX, dH []F          // [3 hidden] gradients of fromX, fromH
	back   []F          // [hidden]
	sums   [4][]float64 // gradients of the tables
}

func newGRU[F node.Float](cfg node.Config) (node.Instance[F], error) {
	g := &gru[F]{Reporter: node.NewReporter(cfg, 0), batches: cfg.Node.InShape[0].B, in: cfg.Node.InShape[0].C, hidden: cfg.Node.OutShape[0].C}
	n := g.batches * g.hidden
	g.h, g.x, g.fromX, g.fromH = make([]F, n), make([]F, g.in), make([]F, 3*g.hidden), make([]F, 3*g.hidden)
	if cfg.Training {
		g.before, g.lambda, g.kept = make([]F, n), make([]F, n), make([]F, cfg.MaxTokens*n*5)
		g.dX, g.dH, g.back = make([]F, 3*g.hidden), make([]F, 3*g.hidden), make([]F, g.hidden)
		for k := range g.sums {
			g.sums[k] = make([]float64, len(cfg.Node.Spec.Params[k].Value.Data))
		}
	}
	return g, nil
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// affine writes w v + bias to y.
func affine[F node.Float](y []F, w, bias *node.Param[F], v []F) {
	for o := range y {
		y[o] = bias.Data[min(o, bias.C-1)] + dsp.Dot(w.Tensor.Row(o), v)
	}
}

// frame copies frame t of batch b to the scratch row x.
func (g *gru[F]) frame(in *node.Tensor[F], b, t int) {
	for i := range g.x {
		g.x[i] = in.Data[(b*in.C+i)*in.N+t]
	}
}

// step is one frame of batch b: h becomes the state after it. If keep is not
// empty, it receives what the backward step reads.
func (g *gru[F]) step(c *node.Call[F], b, t int, h, keep []F) {
	g.frame(&c.In[0], b, t)
	affine(g.fromX, &c.Param[weightIn], &c.Param[biasIn], g.x)
	affine(g.fromH, &c.Param[weightHidden], &c.Param[biasHidden], h)
	n := g.hidden
	for j := range h {
		r := F(sigmoid(float64(g.fromX[j] + g.fromH[j])))
		z := F(sigmoid(float64(g.fromX[n+j] + g.fromH[n+j])))
		new := F(math.Tanh(float64(g.fromX[2*n+j] + F(r*g.fromH[2*n+j]))))
		if keep != nil {
			keep[j], keep[n+j], keep[2*n+j], keep[3*n+j], keep[4*n+j] = h[j], r, z, new, g.fromH[2*n+j]
		}
		h[j] = F((1-z)*new) + F(z*h[j])
	}
}

func (g *gru[F]) Forward(c *node.Call[F]) graph.Code {
	y := &c.Out[0]
	for b := range g.batches {
		h := g.h[b*g.hidden:][:g.hidden]
		for t := range c.Tokens {
			g.step(c, b, t, h, nil)
			for j, v := range h {
				y.Data[(b*g.hidden+j)*y.N+t] = v
			}
		}
	}
	node.Report(g.Reporter, c)
	return graph.Success
}

func (g *gru[F]) Reset()                     { clear(g.h) }
func (g *gru[F]) StateBytes() int            { return node.FloatBytes[F](len(g.h)) }
func (g *gru[F]) Save(dst []byte) int        { return node.PutFloats(dst, g.h) }
func (g *gru[F]) Load(src []byte) graph.Code { return load(g.h, src) }
func (g *gru[F]) Needs() node.Needs          { return node.NeedX | node.NeedS0 }
func (g *gru[F]) ResetAdjoint()              { clear(g.lambda) }

// Backward recomputes the frames from the state before the call and then goes
// from the last to the first. Sums over batches are made frame by frame, so
// that they do not depend on cuts.
func (g *gru[F]) Backward(b *node.Back[F]) graph.Code {
	if code := load(g.before, b.State0); code != graph.Success {
		return code
	}
	size := 5 * g.hidden
	for s := range g.batches {
		for t := range b.Tokens {
			g.step(&b.Call, s, t, g.before[s*g.hidden:][:g.hidden], g.kept[(t*g.batches+s)*size:][:size])
		}
	}
	for t := b.Tokens - 1; t >= 0; t-- {
		for s := range g.batches {
			g.backStep(b, s, t, g.kept[(t*g.batches+s)*size:][:size])
		}
	}
	node.Report(g.Reporter, &b.Call)
	return graph.Success
}

func (g *gru[F]) backStep(b *node.Back[F], s, t int, kept []F) {
	n, d := g.hidden, &b.DOut[0]
	lambda := g.lambda[s*n:][:n]
	for j := range n {
		h, r, z, new, from := kept[j], kept[n+j], kept[2*n+j], kept[3*n+j], kept[4*n+j]
		dH := d.Data[(s*n+j)*d.N+t] + lambda[j]
		dNew := F(dH*(1-z)) * (1 - F(new*new))
		dZ := F(dH*(h-new)) * F(z*(1-z))
		dR := F(dNew*from) * F(r*(1-r))
		g.dX[j], g.dX[n+j], g.dX[2*n+j] = dR, dZ, dNew
		g.dH[j], g.dH[n+j], g.dH[2*n+j] = dR, dZ, F(dNew*r)
		g.back[j] = F(dH * z)
	}
	for o, v := range g.dH {
		dsp.AddScaled(g.back, b.Param[weightHidden].Tensor.Row(o), v)
	}
	copy(lambda, g.back)
	g.frame(&b.In[0], s, t)
	g.outer(b, weightIn, biasIn, g.dX, g.x)
	g.outer(b, weightHidden, biasHidden, g.dH, kept[:n])
	if dx := &b.DIn[0]; dx.Data != nil {
		clear(g.x)
		for o, v := range g.dX {
			dsp.AddScaled(g.x, b.Param[weightIn].Tensor.Row(o), v)
		}
		for i, v := range g.x {
			dx.Data[(s*g.in+i)*dx.N+t] = v
		}
	}
}

// outer adds d vᵀ to the sums of a weight, and d to those of its bias.
func (g *gru[F]) outer(b *node.Back[F], weight, bias int, d, v []F) {
	if b.DParam[weight].Sum != nil {
		for o, a := range d {
			row := g.sums[weight][o*len(v):][:len(v)]
			for i, x := range v {
				row[i] += float64(float64(a) * float64(x))
			}
		}
	}
	if b.DParam[bias].Sum != nil {
		for o, a := range d {
			g.sums[bias][min(o, len(g.sums[bias])-1)] += float64(a)
		}
	}
}

func (g *gru[F]) FinishAdjoint(p []node.Grad[F]) {
	for k, sum := range g.sums {
		node.AddFolded(p[k].Sum, sum)
		clear(sum)
	}
}
