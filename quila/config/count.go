package config

// Counts are the weights of a network, line by line.
type Counts struct {
	WIn, NSA, RWKV, DRC, SSM, Other int64 // of a neuron
	PerNeuron, Neurons              int64
	PerEdge, Edges                  int64 // edges of the initial graph
	PerPort, Ports                  int64 // ports with attention
	CM, Codebooks                   int64
	Total                           int64
}

// Count returns how many weights a network has.
func (c *Config) Count() Counts {
	var n Counts
	d, h, ns, dt := int64(c.D), int64(c.H), int64(c.NS), int64(c.DT())
	if c.R == 0 {
		n.WIn = d * h * h
	} else {
		n.WIn = int64(c.R) * int64(c.D1+c.D2) * h
	}
	n.NSA, n.RWKV, n.DRC = 3*d*d, 3*d*d+d, 2*d*d
	n.SSM = 2*d*dt + 3*d*ns + 2*d
	const kIn, mhc, fxaa, rho = 64, 4, 1, 1
	n.Other = kIn + d + 4*d + mhc + fxaa + rho + d + int64(c.WOutLen())
	n.PerNeuron = n.WIn + n.NSA + n.RWKV + n.DRC + n.SSM + n.Other
	n.Neurons = int64(c.N) * n.PerNeuron
	n.PerEdge = int64(c.WOutLen()) + int64(c.Kappa*c.Kappa)
	n.Edges = int64(c.N) * int64(c.Deg) * n.PerEdge
	s := int64(c.PortStreams())
	n.PerPort = 6*d*d + s*s + int64(c.CompressIn())*d + d + d + 3
	n.Ports = int64(2*c.Thinkers+1) * n.PerPort
	n.CM = 2 * (4*d*d + 5*d)
	n.Codebooks = int64(c.Modalities) * int64(c.V) * int64(c.DE)
	n.Total = n.Neurons + n.Edges + n.Ports + n.CM + n.Codebooks
	return n
}
