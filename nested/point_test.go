package nested_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/nested"
	"atenia/nested/rule"
)

// small are the constants that keep a rule's tests short.
func small(name rule.Name, width int) rule.Config {
	switch name {
	case rule.Moneta, rule.YAAD, rule.MEMORA:
		return rule.Config{Hidden: 2 * width}
	case rule.Lattice, rule.Trellis:
		return rule.Config{Slots: 3}
	case rule.Atlas:
		return rule.Config{Window: 2}
	}
	return rule.Config{}
}

// A point is where gradients are checked: open gates, memory that is not empty, and
// weights large enough to distinguish the gradients of a level from noise. At
// usual initial values most of them are below the resolution of differences, and
// any backward pass would pass.
type point[F float32 | float64] struct {
	m            *nested.Model[F]
	ctx          *nested.Context[F]
	ids, targets []int32
	active       []bool
}

// pointOf returns the point of a configuration whose vocabulary, width and
// rule's constants are filled in.
func pointOf[F float32 | float64](t testing.TB, c nested.Config, tokens int) *point[F] {
	t.Helper()
	c.Vocab, c.Width, c.Heads, c.Window = 16, 8, 2, 4
	c.Memory = small(c.Rule, c.Width)
	c.Seed = 42
	p := &point[F]{m: built[F](t, c)}
	r := rule.NewRand(11)
	for _, q := range p.m.Params() {
		switch {
		case strings.HasSuffix(q.Name, ".b_alpha"):
			q.Value[0] = -1.5
		case strings.HasSuffix(q.Name, ".b_theta"):
			q.Value[0] += 0.5
		case q.Name == "W_embed":
			scale(q.Value, 2.5)
		case q.Name == "W_unembed":
			scale(q.Value, 3)
		case strings.HasSuffix(q.Name, ".W_O"):
			scale(q.Value, 2)
		case strings.HasSuffix(q.Name, ".b_freq"):
			// Of the levels above the first, one is on and one off.
			for l := range q.Value {
				q.Value[l] = F(3 - 6*(l%2))
			}
		}
	}
	p.ctx = p.m.NewContext()
	for layer := range p.m.Config().Layers {
		for level := range p.m.Config().Periods {
			s := p.ctx.State(layer, level)
			for _, name := range []string{"M", "S", "W2", "A2", "BK", "BV"} {
				if name == "S" && c.Rule == rule.Lattice {
					continue // rows stay unit vectors
				}
				v := rule.State(p.m.Layout(), s, name)
				add := make([]F, len(v))
				rule.Uniform(r, add, 0.5)
				for i := range v {
					v[i] += add[i]
				}
			}
			for i := range rule.State(p.m.Layout(), s, "BG") {
				rule.State(p.m.Layout(), s, "BG")[i] = 0.5
			}
		}
	}
	for range tokens {
		p.ids = append(p.ids, int32(r.Uint64()%16))
		p.targets = append(p.targets, int32(r.Uint64()%16))
	}
	p.targets[len(p.targets)-1] = 16 // does not count
	for l := range p.m.Config().Periods {
		p.active = append(p.active, l%2 == 0)
	}
	return p
}

func scale[F float32 | float64](v []F, s F) {
	for i := range v {
		v[i] *= s
	}
}

// states returns copies of all levels' states of the first layer.
func (p *point[F]) states() (all [][]F) {
	for l := range p.m.Config().Periods {
		all = append(all, append([]F(nil), p.ctx.State(0, l)...))
	}
	return all
}

func (p *point[F]) pulse() nested.Pulse { return nested.NewPulse(1, nested.Build, p.active...) }

// loss is the loss without a tape.
func (p *point[F]) loss(t testing.TB, r *nested.Runner[F]) float64 {
	t.Helper()
	if _, err := r.Forward(p.pulse(), p.ctx, p.ids, p.targets, nil); err != nil {
		t.Fatal(err)
	}
	return r.Loss()
}

// gradients returns the flat gradient by the tape.
func (p *point[F]) gradients(t testing.TB) []F {
	t.Helper()
	r, err := p.m.NewRunner(true, nil, grad.CheckImmutable())
	if err != nil {
		t.Fatal(err)
	}
	g := make([]F, len(p.m.Values()))
	if _, err := r.Forward(p.pulse(), p.ctx, p.ids, p.targets, g); err != nil {
		t.Fatal(err)
	}
	if err := r.Backward(1); err != nil {
		t.Fatal(err)
	}
	return g
}

// A difference is how central differences agree with a gradient.
type difference struct {
	checked, large, wrong int // large: at least 1e-3
	first                 string
}

// differences compares every step-th entry of the named parameters. An entry
// is wrong if it is off by more than tol·max(|g|, floor).
func (p *point[F]) differences(t testing.TB, g []F, only string, step int, eps, tol, floor float64) (d difference) {
	t.Helper()
	r, err := p.m.NewRunner(false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range p.m.Params() {
		if !strings.Contains(q.Name, only) {
			continue
		}
		at := p.m.Offset(q.Name)
		for i := 0; i < len(q.Value); i += step {
			old := q.Value[i]
			q.Value[i] = old + F(eps)
			hi, up := p.loss(t, r), q.Value[i]
			q.Value[i] = old - F(eps)
			lo, down := p.loss(t, r), q.Value[i]
			q.Value[i] = old
			fd, got := (hi-lo)/float64(up-down), float64(g[at+i])
			d.checked++
			size := max(got, -got)
			if size >= 1e-3 {
				d.large++
			}
			if off := max(fd-got, got-fd); !(off <= tol*max(size, floor)) {
				if d.wrong++; d.first == "" {
					d.first = fmt.Sprintf("%s[%d]: gradient %g, difference %g", q.Name, i, got, fd)
				}
			}
		}
	}
	return d
}
