package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// partition is the block length of a partitioned convolution. Measured on one
// core, 256 is best or close to it from 256 to 48,000 taps.
var partition = node.Setting{Name: "partition", Least: 1, Value: 256}

// FilterTypes returns the table of the other filters: recursive ones with a few
// coefficients, and short and long FIR filters.
//
//	SVF        state-variable filter, trapezoidal: stays stable while its frequency moves
//	OnePole    first-order lowpass
//	DCBlock    first-order highpass at a few Hz
//	FIR        taps, direct; with method partitioned by Fourier transform
//	Convolver  long taps (rooms, cabinets), by Fourier transform, without latency
//
// and ConvolutionReverb for the longest taps, of a file, with even work per block.
//
// Parameters have one value for the whole stream or one per frame; taps are
// tables.
func FilterTypes() node.Table {
	ports := func(t node.Type) node.Type {
		t.Ins, t.Outs, t.Adjoint = []string{"in"}, []string{"out"}, true
		return t
	}
	return node.Table{
		ports(node.Type{Name: "SVF", Doc: "state-variable filter by the trapezoidal rule",
			Framed:   []node.Default{{Name: "f0", Value: 1000}, {Name: "q", Value: math.Sqrt(0.5)}},
			Settings: []node.Setting{{Name: "kind", Among: svfKinds}}, Jacobian: graph.Toeplitz, New32: newSVF[float32], New64: newSVF[float64]}),
		ports(node.Type{Name: "OnePole", Doc: "y[n] = (1-a) x[n] + a y[n-1], a = exp(-2 pi f0/rate)",
			Framed: []node.Default{{Name: "f0", Value: 1000}}, Jacobian: graph.Toeplitz, New32: newOnePole[float32], New64: newOnePole[float64]}),
		ports(node.Type{Name: "DCBlock", Doc: "y[n] = x[n] - x[n-1] + r y[n-1]",
			Framed: []node.Default{{Name: "r", Value: 0.995}}, Jacobian: graph.Toeplitz, New32: newDCBlock[float32], New64: newDCBlock[float64]}),
		ports(node.Type{Name: "FIR", Doc: "y[n] = sum of taps[k] x[n-k]; one row of taps, or one per channel",
			Tables:   []node.Default{{Name: "taps", Value: 1}},
			Settings: []node.Setting{{Name: "method", Among: []string{"direct", "partitioned"}}, partition}, Jacobian: graph.Toeplitz,
			Refine: refineTaps, New32: newFIR[float32], New64: newFIR[float64]}),
		ports(node.Type{Name: "Convolver", Doc: "FIR with many taps, computed by spectra of blocks of partition frames; no latency",
			Tables:   []node.Default{{Name: "taps", Value: 1}},
			Settings: []node.Setting{{Name: "method", Among: []string{"partitioned"}}, partition}, Jacobian: graph.Toeplitz,
			Refine: refineTaps, New32: newConvolver[float32], New64: newConvolver[float64]}),
		reverbType(),
	}
}
