package neuron_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// small is a configuration that central differences can afford.
func small(t testing.TB) config.Config {
	t.Helper()
	c, err := config.Parse([]byte(`{"name":"nano","N":3,"D":16,"H":8,"a":4,"s":2,"kappa":4,"r":2,"d1":4,"d2":4,"deg":2,"k_p":3,"V":20,"D_e":8,"N_s":3}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// noisy are first values with noise on all of them, so that no gradient is zero
// by accident.
func noisy(c *config.Config, edges int) *weights.Set[float64] {
	w := weights.To[float64](weights.Init(c, edges, 7))
	noise := make([]float64, 1)
	for i := range w.Specs {
		if w.Specs[i].Name == "s4.receptive" {
			continue
		}
		v := w.At(i)
		for k := range v {
			weights.Stream{Seed: 3, Neuron: uint32(i), Tick: uint64(k), Site: weights.InitSite}.Normal(noise)
			v[k] += .15 * noise[0]
		}
	}
	return w
}

// A trial is a window with a loss that weighs all outputs.
type trial struct {
	c     *config.Config
	graph *weights.Graph
	w     *weights.Set[float64]
	start *neuron.State[float64]
	emb   []float64
	tell  []float64
	T     int
	o     neuron.Options[float64]
}

func normals(n int, seed uint64) []float64 {
	v := make([]float64, n)
	weights.Stream{Seed: seed, Site: weights.InitSite}.Normal(v)
	return v
}

func newTrial(c *config.Config, T, sessions int) *trial {
	graph := weights.Initial(c)
	tr := &trial{c: c, graph: graph, w: noisy(c, graph.Edges()), T: T, start: neuron.NewState[float64](c, sessions)}
	for i, f := range tr.start.Fields() {
		copy(f.Values, normals(len(f.Values), uint64(100+i)))
		for k, x := range f.Values {
			switch f.Name {
			case "conf":
				f.Values[k] = .15 + .8*math.Abs(math.Sin(3*x)) // below and above .4
			case "trace", "ptrace", "den", "u_dim", "h_dim":
				f.Values[k] = math.Abs(x)
			}
		}
	}
	for i := range tr.start.Sent {
		tr.start.Sent[i] = i%4 != 1
	}
	tr.emb = normals(T*sessions*c.DE, 50)
	tr.tell = normals(T*sessions*c.N*(c.D+2), 51)
	if T*c.K > 1 { // traces are constants of the gradient, but differences see them
		clear(tr.tell[T*sessions*c.N*(c.D+1):])
	}
	return tr
}

// loss runs the window; with grads it adds gradients by name to them.
func (tr *trial) loss(g *neuron.Grid[float64], grads map[string][]float64) (float64, error) {
	g.Bind(tr.w)
	var reg grad.Registry[float64]
	neuron.Register(&reg)
	return grad.With(&reg, func(t *grad.Tape[float64]) (float64, error) {
		refs := map[string]grad.Ref{}
		for i, s := range tr.w.Specs {
			v := tr.w.At(i)
			refs[s.Name] = t.Param(v, len(v))
		}
		out, err := g.Window(t, refs, tr.start.Clone(), tr.emb, tr.T, tr.o)
		if err != nil {
			return 0, err
		}
		n := len(t.Value(out.Conf))
		parts := []grad.Ref{out.X, out.Conf, out.Utility}
		sizes := []int{n * tr.c.D, n, n}
		var loss grad.Ref
		at := 0
		for i, r := range parts {
			w := t.Const(tr.tell[at:at+sizes[i]], t.Shape(r)...)
			at += sizes[i]
			p := t.Sum(t.Mul(r, w))
			if i == 0 {
				loss = p
			} else {
				loss = t.Add(loss, p)
			}
		}
		if err := t.Err(); err != nil {
			return 0, err
		}
		if grads != nil {
			if err := t.Backward(loss); err != nil {
				return 0, err
			}
			for name, r := range refs {
				if v, ok := t.Grad(r); ok {
					grads[name] = append([]float64(nil), v...)
				}
			}
		}
		return t.Value(loss)[0], nil
	})
}

// TestWindowGradients compares the gradient of every tensor with central
// differences in float64, for the options that change what a neuron computes.
func TestWindowGradients(t *testing.T) {
	cases := map[string]func(c *config.Config, tr *trial){
		"nano":    nil,
		"utility": func(_ *config.Config, tr *trial) { tr.o.Phase = 1 },
		"song":    func(c *config.Config, _ *trial) { c.CM = "song" },
		"window":  func(c *config.Config, _ *trial) { c.SSM = "window" },
		"rwkv4":   func(c *config.Config, _ *trial) { c.WKV, c.CM = "rwkv4", "off" },
		"tanh":    func(c *config.Config, _ *trial) { c.WKV, c.NormIn, c.RhoOn, c.Streams = "tanh", false, true, "ACD" },
		"deep":    func(c *config.Config, _ *trial) { c.DRCMax, c.K, c.RhoOn = 16, 2, true },
		"phase2":  func(c *config.Config, tr *trial) { tr.o.Phase, c.DRCMax, c.MHCGrad = 2, 6, "exact" },
		"exact":   func(c *config.Config, _ *trial) { c.MHCGrad = "exact" },
		"dense":   func(c *config.Config, _ *trial) { c.R = 0 },
		"fire": func(c *config.Config, tr *trial) {
			c.SSM, c.RhoOn, c.K = "window", true, 2
			tr.o.Fire = func(tick int, s *neuron.State[float64], fire []bool) {
				for i := range fire {
					fire[i] = (tick+i)%3 != 0
				}
			}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := small(t)
			c.MHCGrad = "exact"
			tr := &trial{}
			if change != nil {
				change(&c, tr)
			}
			o := tr.o
			tokens := 3
			if name == "utility" {
				tokens = 1
			}
			tr = newTrial(&c, tokens, 2)
			tr.o = o
			g := neuron.New[float64](&c, tr.graph, nil)
			grads := map[string][]float64{}
			if _, err := tr.loss(g, grads); err != nil {
				t.Fatal(err)
			}
			for i, s := range tr.w.Specs {
				if err := compare(tr, g, s.Name, tr.w.At(i), grads[s.Name]); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// compare checks a gradient along a direction that has a part of every element,
// and at the element where it is largest; in the long form of the test, at a dozen
// elements more.
func compare(tr *trial, g *neuron.Grid[float64], name string, v, got []float64) error {
	if got == nil {
		return nil
	}
	const h = 1e-5
	start := slices.Clone(v)
	slope := func(direction []float64) (float64, error) {
		var at [2]float64
		for i, by := range []float64{h, -h} {
			for k, d := range direction {
				v[k] = start[k] + by*d
			}
			var err error
			if at[i], err = tr.loss(g, nil); err != nil {
				return 0, err
			}
		}
		copy(v, start)
		return (at[0] - at[1]) / (2 * h), nil
	}
	all, sum, top, largest := make([]float64, len(v)), 0.0, 0, 0.0
	for k := range all { // of length 1
		all[k] = math.Sqrt2 * math.Sin(float64(k*k+k+1)) / math.Sqrt(float64(len(v)))
		sum += all[k] * got[k]
		if x := math.Abs(got[k]); x > largest {
			top, largest = k, x
		}
	}
	want, err := slope(all)
	if err != nil {
		return err
	}
	if e := math.Abs(sum - want); e > 1e-4*largest+1e-8 {
		return fmt.Errorf("%s: the gradient's part along a direction is %.8g, the slope %.8g, largest %.3g", name, sum, want, largest)
	}
	at := []int{top}
	if await.Long() {
		for i := 0; i < len(v); i += max(1, len(v)/12) {
			at = append(at, i)
		}
	}
	for _, i := range at {
		one := make([]float64, len(v))
		one[i] = 1
		want, err := slope(one)
		if err != nil {
			return err
		}
		if e := math.Abs(got[i] - want); e > 1e-3*max(largest, math.Abs(want))+1e-8 { // the steepest is also the most curved
			return fmt.Errorf("%s[%d]: gradient %.8g, the slope is %.8g, largest %.3g", name, i, got[i], want, largest)
		}
	}
	return nil
}
