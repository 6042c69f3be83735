package nested_test

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/nested"
	"atenia/nested/rule"
)

// A hand computes one layer of memory as gate without a tape, forward pass and
// adjoint block by block, for comparison with the tape.
type hand[F float32 | float64] struct {
	cfg   nested.Config
	block *rule.Block[F]
	w     *grad.Work[F]
	p     map[string][]F // parameters by name
}

func byHand[F float32 | float64](m *nested.Model[F]) *hand[F] {
	b, err := rule.New[F](m.Config().Rule, m.Config().Width, m.Config().Memory)
	if err != nil {
		panic(err)
	}
	h := &hand[F]{cfg: m.Config(), block: b, w: grad.NewWork[F](nil), p: map[string][]F{}}
	for _, p := range m.Params() {
		h.p[p.Name] = p.Value
	}
	for l := range h.cfg.Periods {
		at := m.Offset(fmt.Sprintf("layers.0.levels.%d.W_K", l))
		h.p[fmt.Sprintf("level %d", l)] = m.Values()[at:][:b.ParamLen]
	}
	return h
}

// A handLevel holds the values that a level's adjoint reads.
type handLevel[F float32 | float64] struct {
	cache    [][]F
	active   []F // answers of each branch; nil where it was not taken
	frozen   []F
	q, norms []F
}

// A handPass is one chunk.
type handPass[F float32 | float64] struct {
	loss                   float64
	x, q, k, v, a, gate, z []F
	proj, prob, dlogits    []F
	freq, pooled           []F
	levels                 []handLevel[F]
	states                 [][]F // after the chunk
	mask                   []F
	ids                    []int32
}

// forward computes a chunk. With a learned schedule, mask has the weight with
// which each level is active; otherwise it is nil and active is used.
func (h *hand[F]) forward(ids, targets []int32, active []bool, mask []F, states [][]F) *handPass[F] {
	c, d, T := h.cfg, h.cfg.Width, len(ids)
	k := len(c.Periods)
	p := &handPass[F]{ids: ids, mask: mask, levels: make([]handLevel[F], k)}
	table := h.p["W_embed"]
	for _, id := range ids {
		p.x = append(p.x, table[int(id)*d:][:d]...)
	}
	project := func(x []F, name string) []F {
		out := make([]F, T*d)
		h.w.MulT(out, x, h.p["layers.0."+name], T, d, d)
		return out
	}
	p.q, p.k, p.v = project(p.x, "W_Q"), project(p.x, "W_K"), project(p.x, "W_V")
	p.attend(c)
	if mask != nil {
		p.pooled = make([]F, d)
		for t := range T {
			dense.Axpy(p.pooled, F(1/float64(T)), p.x[t*d:][:d])
		}
		p.freq = make([]F, k)
		dense.MatVec(p.freq, h.p["layers.0.W_freq"], p.pooled)
		dense.Add(p.freq, h.p["layers.0.b_freq"])
	}
	sum := make([]F, T*d)
	for l := range k {
		lv := &p.levels[l]
		state, next := states[l], states[l]
		if mask != nil || active[l] {
			lv.active, next = make([]F, T*d), make([]F, len(state))
			lv.cache = h.block.Cut(nil, T, make([]F, h.block.CacheLen(T)))
			h.block.Forward(h.w, p.x, h.p[fmt.Sprintf("level %d", l)], state, lv.active, next, lv.cache)
		}
		if mask != nil || !active[l] {
			lv.frozen, lv.q, lv.norms = make([]F, T*d), make([]F, T*h.block.DK), make([]F, T)
			h.block.Query(h.w, p.x, h.p[fmt.Sprintf("layers.0.levels.%d.W_Q", l)], lv.q, lv.norms)
			h.block.Read(h.w, state, lv.q, lv.frozen)
		}
		for i := range sum {
			switch {
			case mask != nil:
				sum[i] += mask[l]*lv.active[i] + (1-mask[l])*lv.frozen[i]
			case active[l]:
				sum[i] += lv.active[i]
			default:
				sum[i] += lv.frozen[i]
			}
		}
		if mask != nil && mask[l] < 0.5 {
			next = state
		}
		p.states = append(p.states, next)
	}
	p.gate, p.z = make([]F, T*d), make([]F, T*d)
	for i, m := range sum {
		p.gate[i] = F(1 / (1 + math.Exp(-float64(m*h.scale()))))
		p.z[i] = p.a[i] * p.gate[i]
	}
	p.proj = project(p.z, "W_O")
	logits := make([]F, T*c.Vocab)
	h.w.MulT(logits, p.proj, h.p["W_unembed"], T, d, c.Vocab)
	p.crossEntropy(logits, targets, c.Vocab)
	return p
}

func (h *hand[F]) scale() F {
	if k := len(h.cfg.Periods); k > 2 {
		return F(1 / math.Sqrt(float64(k)))
	}
	return 1
}

// attend is the plainest attention: every query looks at every key that it
// may see.
func (p *handPass[F]) attend(c nested.Config) {
	d, hd, T := c.Width, c.Width/c.Heads, len(p.q)/c.Width
	p.a, p.prob = make([]F, T*d), make([]F, c.Heads*T*T)
	for h := range c.Heads {
		for t := range T {
			row := p.prob[(h*T+t)*T:][:T]
			sum := 0.0
			for j := max(0, t-c.Window+1); j <= t; j++ {
				s := 0.0
				for i := h * hd; i < (h+1)*hd; i++ {
					s += float64(p.q[t*d+i]) * float64(p.k[j*d+i])
				}
				row[j] = F(math.Exp(s / math.Sqrt(float64(hd))))
				sum += float64(row[j])
			}
			for j := range row {
				row[j] = F(float64(row[j]) / sum)
				for i := h * hd; i < (h+1)*hd; i++ {
					p.a[t*d+i] += row[j] * p.v[j*d+i]
				}
			}
		}
	}
}

// attendBack returns the adjoints of queries, keys and values.
func (p *handPass[F]) attendBack(c nested.Config, da []F) (dq, dk, dv []F) {
	d, hd, T := c.Width, c.Width/c.Heads, len(p.q)/c.Width
	dq, dk, dv = make([]F, T*d), make([]F, T*d), make([]F, T*d)
	for h := range c.Heads {
		for t := range T {
			row, dp := p.prob[(h*T+t)*T:][:T], make([]F, T)
			var dot F
			for j := range row {
				for i := h * hd; i < (h+1)*hd; i++ {
					dp[j] += p.v[j*d+i] * da[t*d+i]
					dv[j*d+i] += row[j] * da[t*d+i]
				}
				dot += row[j] * dp[j]
			}
			for j := range row {
				s := row[j] * (dp[j] - dot) / F(math.Sqrt(float64(hd)))
				for i := h * hd; i < (h+1)*hd; i++ {
					dq[t*d+i] += s * p.k[j*d+i]
					dk[j*d+i] += s * p.q[t*d+i]
				}
			}
		}
	}
	return dq, dk, dv
}

func (p *handPass[F]) crossEntropy(logits []F, targets []int32, vocab int) {
	valid := 0
	for _, id := range targets {
		if id >= 0 && int(id) < vocab {
			valid++
		}
	}
	p.dlogits = make([]F, len(logits))
	for t, id := range targets {
		if id < 0 || int(id) >= vocab {
			continue
		}
		row := logits[t*vocab:][:vocab]
		top, sum := float64(row[0]), 0.0
		for _, x := range row {
			top = max(top, float64(x))
		}
		for _, x := range row {
			sum += math.Exp(float64(x) - top)
		}
		p.loss += (math.Log(sum) + top - float64(row[id])) / float64(valid)
		for i, x := range row {
			p.dlogits[t*vocab+i] = F(math.Exp(float64(x)-top) / sum / float64(valid))
		}
		p.dlogits[t*vocab+int(id)] -= F(1 / float64(valid))
	}
}

// backward returns the gradient of every parameter by name, levels flat.
func (h *hand[F]) backward(p *handPass[F], states [][]F) map[string][]F {
	c, d, T := h.cfg, h.cfg.Width, len(p.ids)
	g := map[string][]F{}
	for name, v := range h.p {
		g[name] = make([]F, len(v))
	}
	dproj, dz := make([]F, T*d), make([]F, T*d)
	h.w.TMul(g["W_unembed"], p.dlogits, p.proj, c.Vocab, T, d)
	h.w.Mul(dproj, p.dlogits, h.p["W_unembed"], T, c.Vocab, d)
	h.w.TMul(g["layers.0.W_O"], dproj, p.z, d, T, d)
	h.w.Mul(dz, dproj, h.p["layers.0.W_O"], T, d, d)
	da, dm := make([]F, T*d), make([]F, T*d)
	for i := range dz {
		da[i] = dz[i] * p.gate[i]
		dm[i] = dz[i] * p.a[i] * p.gate[i] * (1 - p.gate[i]) * h.scale()
	}
	dx := make([]F, T*d)
	df := make([]F, len(p.levels))
	for l := range p.levels {
		h.levelBack(p, l, states[l], dm, dx, g)
		if p.mask != nil && l > 0 {
			for i, m := range dm {
				df[l] += m * (p.levels[l].active[i] - p.levels[l].frozen[i])
			}
		}
	}
	if p.mask != nil {
		dense.AddOuter(g["layers.0.W_freq"], 1, df, p.pooled)
		copy(g["layers.0.b_freq"], df)
		dp := make([]F, d)
		dense.AddMatVecT(dp, h.p["layers.0.W_freq"], df)
		for t := range T {
			dense.Axpy(dx[t*d:][:d], F(1/float64(T)), dp)
		}
	}
	dq, dk, dv := p.attendBack(c, da)
	for _, s := range []struct {
		name string
		d    []F
	}{{"W_Q", dq}, {"W_K", dk}, {"W_V", dv}} {
		h.w.TMul(g["layers.0."+s.name], s.d, p.x, d, T, d)
		h.w.AddMul(dx, s.d, h.p["layers.0."+s.name], T, d, d)
	}
	for t, id := range p.ids {
		dense.Add(g["W_embed"][int(id)*d:][:d], dx[t*d:][:d])
	}
	return g
}

// levelBack is the adjoint of one level's answer, in each branch taken.
func (h *hand[F]) levelBack(p *handPass[F], l int, state, dm, dx []F, g map[string][]F) {
	lv, flat := &p.levels[l], g[fmt.Sprintf("level %d", l)]
	on, off := F(1), F(1)
	if p.mask != nil {
		on, off = p.mask[l], 1-p.mask[l]
	}
	dy := make([]F, len(dm))
	if lv.active != nil {
		for i, m := range dm {
			dy[i] = on * m
		}
		h.block.Backward(h.w, p.x, h.p[fmt.Sprintf("level %d", l)], state, lv.cache, dy, nil, dx, flat, nil)
	}
	if lv.frozen != nil {
		for i, m := range dm {
			dy[i] = off * m
		}
		dq := make([]F, len(lv.q))
		h.block.ReadBack(h.w, state, lv.q, dy, dq)
		name := fmt.Sprintf("layers.0.levels.%d.W_Q", l)
		h.block.QueryBack(h.w, p.x, h.p[name], lv.q, lv.norms, dq, dx, rule.Param(h.block.Layout, flat, "W_Q"))
	}
}
