package weights

import (
	"atenia/quila/config"
)

// Modalities are the names of codebooks and boundaries, in order.
var Modalities = []string{"text", "image", "audio", "video"}

// Ropes are the bases of the position codes, and the modality that needs them.
var Ropes = []struct {
	Name     string
	Modality int
}{{"rope.text", 0}, {"rope.img.row", 1}, {"rope.img.col", 1}, {"rope.aud.time", 2}, {"rope.aud.freq", 2}, {"rope.vid.time", 3}}

// A Spec is one tensor.
type Spec struct {
	Name    string
	Dims    []int // empty for one value
	Block   int   // of a model file; 3 for edges
	Single  bool  // always float32 in a file, whatever param_dtype says
	Trained bool
}

// Size is how many values a tensor has.
func (s *Spec) Size() int {
	n := 1
	for _, d := range s.Dims {
		n *= d
	}
	return n
}

// An inventory is being listed.
type inventory struct {
	c    *config.Config
	list []Spec
}

func (v *inventory) add(block int, single, trained bool, name string, dims ...int) {
	v.list = append(v.list, Spec{name, dims, block, single, trained})
}

// Inventory lists the float tensors of a network with so many edges: the
// neurons, the boundary, the edges, the consistency model, the ports, the heads,
// the position bases and the codebooks. Tensors of integers, states and the
// optimizer's are not among them.
func Inventory(c *config.Config, edges int) []Spec {
	v := &inventory{c: c}
	v.neurons()
	v.senders(edges)
	v.consistency()
	v.ports()
	v.heads()
	for _, r := range Ropes {
		if r.Modality < c.Modalities {
			v.add(1, true, true, r.Name, 1)
		}
	}
	v.add(1, true, false, "evict.w", 4)
	for m := range c.Modalities {
		v.add(4, true, false, "codebook."+Modalities[m], c.V, c.DE)
	}
	return v.list
}

func (v *inventory) neurons() {
	c := v.c
	n := func(name string, dims ...int) { v.add(1, false, true, "n."+name, append([]int{c.N}, dims...)...) }
	n("k_in", 8, 8)
	if c.R == 0 {
		n("w_in", c.D, c.H*c.H)
	} else {
		n("w_in.l", c.R, c.D1, c.H)
		n("w_in.r", c.R, c.D2, c.H)
	}
	for _, name := range []string{"b_in", "norm_gain", "wkv_w", "w_conf", "ssm.dt_b", "ssm.skip"} {
		n(name, c.D)
	}
	n("nsa", 3*c.D, c.D)
	n("rwkv", 3*c.D, c.D)
	n("ssm.dt_down", c.DT(), c.D)
	n("ssm.dt_up", c.D, c.DT())
	for _, name := range []string{"ssm.a", "ssm.b", "ssm.c"} {
		n(name, c.D, c.NS)
	}
	n("drc.pred", c.D, c.D)
	n("drc.corr", c.D, c.D)
	n("gate", 4, c.D)
	n("mhc", 2, 2)
	n("fxaa")
	n("rho")
	v.add(1, false, false, "n.wout_proto", c.N, c.WOutLen())
	v.add(2, true, false, "s4.receptive", c.N, c.D) // a bit each in a file
	v.add(2, true, true, "s4.spec", c.N, c.D)
	v.add(2, true, true, "s5.calibration", c.N)
}

func (v *inventory) senders(edges int) {
	c := v.c
	for m := range c.Modalities {
		v.add(1, false, true, "boundary."+Modalities[m]+".w_out", c.N, c.WOutLen())
		v.add(1, false, true, "boundary."+Modalities[m]+".kernel", c.N, c.Kappa, c.Kappa)
	}
	v.add(3, false, true, "edge.w_out", edges, c.WOutLen())
	v.add(3, false, true, "edge.kernel", edges, c.Kappa, c.Kappa)
}

func (v *inventory) consistency() {
	d := v.c.D
	for _, set := range []string{"f", "ema"} {
		trained := set == "f"
		v.add(1, true, trained, "cm."+set+".1.w", 2*d, d+1)
		v.add(1, true, trained, "cm."+set+".1.b", 2*d)
		v.add(1, true, trained, "cm."+set+".2.w", d, 2*d)
		v.add(1, true, trained, "cm."+set+".2.b", d)
	}
	v.add(1, true, false, "cm.sigma_d")
}

func (v *inventory) ports() {
	c, d, s := v.c, v.c.D, v.c.PortStreams()
	for _, kind := range []string{"planner", "thinker", "analysis"} {
		v.add(1, true, true, "port.base."+kind, s, s)
	}
	for _, p := range c.Ports() {
		port := func(name string, dims ...int) { v.add(1, true, true, "port."+p+"."+name, dims...) }
		for _, name := range []string{"w_r", "w_k", "w_v"} {
			port(name, d, d)
		}
		port("w_decay", d)
		for _, name := range []string{"q", "k", "v"} {
			port(name, d, d)
		}
		port("mhc", s, s)
		port("compress", d, c.CompressIn())
		port("compress_b", d)
		port("back", d)
		port("tau")
		port("abg", 2)
		port("slot", d, d)
	}
	v.add(1, true, true, "port.generator.mhc", c.Thinkers+1, c.Thinkers+1)
	v.add(1, true, true, "port.tool.mhc", 2, 2)
	for i := range c.Thinkers {
		if !c.WMQRead {
			break
		}
		p := "port." + c.Ports()[1+i] + ".wmq."
		v.add(1, true, true, p+"r1", d, c.DE)
		v.add(1, true, true, p+"r2", d, c.DE)
		v.add(1, true, true, p+"c", d, d)
		v.add(1, true, true, p+"q", ReadHeads, d, d)
		v.add(1, true, true, p+"o", ReadHeads, d, d)
		for _, name := range []string{"scale", "slope", "null"} {
			v.add(1, true, true, p+name, ReadHeads)
		}
	}
	for _, collector := range []string{"planner", "contra"} {
		for _, m := range []string{"q", "k", "v"} {
			v.add(1, true, true, "agg."+collector+"."+m, d, d)
		}
	}
}

// ReadHeads is how many heads read a Thinker's queue [R-2.3c].
const ReadHeads = 2

func (v *inventory) heads() {
	c, d, de := v.c, v.c.D, v.c.DE
	z := c.Thinkers * d
	head := func(name string, dims ...int) { v.add(1, true, true, "head."+name, dims...) }
	head("need", de, d)
	head("need_bias", d, de)
	head("z", z, d)
	head("z_bias", d, d)
	head("z_delta", z, d)
	head("sct", de, z)
	head("ngram", d, de)
	head("effort", 2, z)
	head("val", de, d)
	head("tool", d)
	head("read", de, d)
	head("drift", 2)
	head("persona_w", d, c.PersonaDim)
	head("persona_gate", d)
	head("tau_contra", 1)
	if c.CodeBias {
		head("code_bias", c.V)
	}
}
