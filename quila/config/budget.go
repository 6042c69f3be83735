package config

import "math"

// A Line is one figure of a [Budget]: a name, its value, and what it follows
// from.
type Line struct {
	Group string  `json:"group"`
	Name  string  `json:"name"`
	Value float64 `json:"value"` // exact for whole numbers below 2⁵³
	Unit  string  `json:"unit"`  // weights, bytes, MAC, FLOP, entries, s, days or empty
	Why   string  `json:"why"`
}

// A Budget is what a network needs: weights, bytes, work and time, computed
// from its configuration alone, section 2.5. Nothing is allocated.
type Budget struct {
	Counts Counts

	Edges, EdgeBytes                             int64
	Weights16, Adam32, Gradients32               int64 // bytes
	StateBytes                                   int64 // S1 to S6 and S8
	RingTicks, RingBytes                         int64 // the ring of h_final
	Firing, Messages, MessageBytes, Materialised int64 // of a tick
	DenseMaps                                    int64 // B maps in float32, which are not kept
	KFEEntries, KFEPerNeuron, KFEBytes           int64
	KFELinks, KFEFields                          int64 // bytes
	EngramBytes                                  int64
	MACMessages, MACConv, MACWIn                 int64 // of a firing neuron
	MACStreams, MACIndex                         int64
	TickFLOP, PortFLOP, TokenFLOP                float64
	PortLean, PortShared                         float64 // FLOP, if the scans are cut
	Lines                                        []Line
}

// The sizes that the specification fixes for its system profile.
const (
	libraryWeights  = 148_000_000_000 // weights that the library of entries stands for (§1.1)
	stateBytes      = 7200            // S1 to S6 and S8 of a neuron
	linkBytes       = 144             // of the index, an entry
	fieldBytes      = 30              // of an entry's other fields
	replayTokens    = 128e6           // the context of §1.1, replayed
	deviceFLOPS     = 400e12          // sustained by one H100
	deviceBandwidth = 3.35e12
	boxFLOPS        = 100e9 // one core with AVX-512
)

// Budget computes what a network needs.
func (c *Config) Budget() *Budget {
	n := c.Count()
	b := &Budget{Counts: n}
	d, h := int64(c.D), int64(c.H)
	b.Edges = int64(c.N) * int64(c.Deg)
	b.EdgeBytes = 2 * n.Edges
	b.Weights16, b.Adam32, b.Gradients32 = 2*n.Total, 8*n.Total, 4*n.Total
	b.StateBytes = stateBytes * int64(c.N)
	b.RingTicks = int64(c.RefBase) + int64(c.WaitMax) + int64(math.Ceil(1/c.ActiveCap)) + 1
	b.RingBytes = b.RingTicks * int64(c.N) * d * 4
	b.Firing = int64(math.Ceil(c.ActiveCap * float64(c.N)))
	b.Messages = b.Firing * int64(c.Deg)
	b.MessageBytes = h*h + 7
	b.Materialised = b.Messages * b.MessageBytes
	b.DenseMaps = int64(c.N) * h * h * 4
	b.KFEEntries = libraryWeights / (2 * d)
	b.KFEPerNeuron = ceil(ceil(libraryWeights, 2*d), int64(c.N))
	b.KFEBytes, b.KFELinks, b.KFEFields = b.KFEEntries*4*d, b.KFEEntries*linkBytes, b.KFEEntries*fieldBytes
	b.EngramBytes = d * 2 << c.EngramBits
	c.work(b)
	c.describe(b)
	return b
}

// ceil is a ÷ b, rounded up.
func ceil(a, b int64) int64 { return (a + b - 1) / b }
