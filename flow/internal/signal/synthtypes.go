package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// SynthTypes returns the table of the synthesisers of DDSP (Engel et al., 2020),
// which a network controls frame by frame, and of what stands between networks
// and signals: quantisation and tables of vectors.
//
//	f0, amplitudes ─▶ HarmonicSynth ─┐
//	magnitudes ─▶ FilteredNoise ─────┴▶ Mix ─▶ SpectralLoss
func SynthTypes() node.Table {
	return node.Table{
		{Name: "HarmonicSynth", Doc: "sum of sines at multiples of f0 (Hz), an amplitude per channel of harmonics; hop frames per frame of control, " +
			"on straight lines between them; silent above half the rate",
			Ins: []string{"f0", "harmonics"}, Outs: []string{"out"}, Framed: []node.Default{{Name: "loudness", Value: 1}}, Adjoint: true,
			Settings: []node.Setting{{Name: "hop", Least: 1, Value: 64}},
			Refine:   refineHarmonic, New32: newHarmonic[float32], New64: newHarmonic[float64]},
		{Name: "FilteredNoise", Doc: "white noise, a function of seed, batch and frame, through a filter for each frame of magnitudes of bands; " +
			"hop frames per frame of magnitudes, bands - 1 frames late",
			Ins: []string{"in"}, Outs: []string{"out"}, Adjoint: true, Jacobian: graph.Banded,
			Settings: []node.Setting{{Name: "hop", Least: 1, Value: 64}, {Name: "seed"}},
			Refine:   refineFiltered, New32: newFiltered[float32], New64: newFiltered[float64]},
		{Name: "Quantize", Doc: "y = scale round(x / scale) to fp8 e4m3 or e5m2 (OCP) or int8, ties to even, saturating; gradient straight-through: " +
			"that of the identity, zero where it saturates",
			Ins: []string{"in"}, Outs: []string{"out"}, Framed: []node.Default{{Name: "scale", Value: 1}}, Adjoint: true, Jacobian: graph.Diagonal,
			Settings: []node.Setting{{Name: "kind", Among: []string{"e4m3", "e5m2", "int8"}}},
			Refine:   refineQuantize, New32: newQuantize[float32], New64: newQuantize[float64]},
		{Name: "Embedding", Doc: "the row of table [1, rows, columns] that an index names; an index that names none is an error",
			Ins: []string{"in"}, Outs: []string{"out"}, Tables: []node.Default{{Name: "table"}}, Adjoint: true, Jacobian: graph.Zero,
			Refine: refineEmbedding, New32: newEmbedding[float32], New64: newEmbedding[float64]},
	}
}
