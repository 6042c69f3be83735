package node

// A Reporter fills in what a node of ABI version 2 reports about a call. Nodes
// embed one, from [NewReporter]. It costs nothing for nodes of version 1, whose heat the host sums.
type Reporter struct {
	on    bool
	delay int
}

// NewReporter returns the reporter of a node whose outputs lag delay frames
// behind its inputs.
func NewReporter(cfg Config, delay int) Reporter {
	return Reporter{on: cfg.Node.SupportsV2, delay: delay}
}

// Report sets the heat and delay of a call.
func Report[F Float](r Reporter, c *Call[F]) {
	if !r.on {
		return
	}
	c.Heat, c.Delay = HeatOf(c), r.delay
}

// HeatOf returns the sum of thermo.heat over the call: over its own batches and
// channels, and over the call's tokens.
func HeatOf[F Float](c *Call[F]) float64 {
	p := &c.Param[len(c.Param)-1]
	sum := 0.0
	for _, v := range p.Data[:p.B*p.C*p.N] {
		sum += float64(v)
	}
	if !p.Framed {
		sum *= float64(c.Tokens)
	}
	return sum
}
