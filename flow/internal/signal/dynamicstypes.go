package signal

import "atenia/flow/node"

// times are the constants of a follower.
var times = []node.Default{{Name: "attack", Value: 0.001}, {Name: "release", Value: 0.01}}

var lookahead = node.Setting{Name: "lookahead"}

// DynamicsTypes returns the table of nodes that react to the level of a signal,
// and of memoryless nonlinear nodes.
//
//	x ──┬──► |x| ──► follower ──► level over threshold ──► gain ─┐
//	    └──► look-ahead frames of delay ─────────────────────────x──► y
//
// Look-ahead delays the signal inside the stream: the first frames of the
// output are zeros and the node reports the delay.
func DynamicsTypes() node.Table {
	ports := func(t node.Type) node.Type {
		t.Ins, t.Outs = []string{"in"}, []string{"out"}
		return t
	}
	return node.Table{
		ports(node.Type{Name: "Envelope", Doc: "peak follower: e += (1-k)(|x|-e), k of the attack or the release (seconds)",
			Framed: times, Adjoint: true, New32: newEnvelope[float32], New64: newEnvelope[float64]}),
		ports(node.Type{Name: "Compressor", Doc: "attenuates what exceeds a threshold, with a soft knee; delayed by lookahead frames; with sidechain yes the level is that of the input sidechain",
			Framed: []node.Default{{Name: "threshold_db", Value: -20}, {Name: "ratio", Value: 4}, {Name: "knee_db", Value: 6},
				times[0], times[1], {Name: "makeup_db"}},
			Settings: []node.Setting{lookahead, {Name: "sidechain", Among: []string{"no", "yes"}}}, Adjoint: true,
			Refine: refineCompressor, New32: newCompressor[float32], New64: newCompressor[float64]}),
		ports(node.Type{Name: "Limiter", Doc: "keeps peaks below ceiling_db; delayed by lookahead frames; true_peak yes: between frames too, delayed by 2 lookahead + 140, no gradient",
			Framed:   []node.Default{{Name: "ceiling_db", Value: -1}, {Name: "release", Value: 0.05}},
			Settings: []node.Setting{{Name: "lookahead", Value: 64}, {Name: "true_peak", Among: []string{"no", "yes"}}}, Adjoint: true,
			Refine: refineLimiter, New32: newLimiter[float32], New64: newLimiter[float64]}),
		ports(node.Type{Name: "WaveShaper", Doc: "y = f(drive x): tanh, soft (v - v^3/3), hard (clip); antialiasing none or adaa",
			Framed:   []node.Default{{Name: "drive", Value: 1}},
			Settings: []node.Setting{{Name: "kind", Among: []string{"tanh", "soft", "hard"}}, {Name: "antialiasing", Among: []string{"none", "adaa"}}}, Refine: refineShaper,
			Adjoint: true, New32: newShaper[float32], New64: newShaper[float64]}),
		ports(node.Type{Name: "ADSR", Doc: "envelope of a gate (above 0.5: on) in straight segments; times in seconds",
			Framed: []node.Default{times[0], {Name: "decay", Value: 0.001}, {Name: "sustain", Value: 0.5}, {Name: "release", Value: 0.001}},
			New32:  newADSR[float32], New64: newADSR[float64]}),
	}
}
