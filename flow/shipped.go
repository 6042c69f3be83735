package flow

import (
	"slices"

	"atenia/flow/internal/signal"
	"atenia/flow/node"

	"atenia/flow/internal/spectral"
)

// ShippedTypes returns the table of all shipped types. It is a [graph.Catalog]; append
// to it to add types.
//
// [graph.Catalog]: https://pkg.go.dev/atenia/flow/graph#Catalog
func ShippedTypes() node.Table {
	return slices.Concat(
		signal.BasicTypes(),    // endpoints, gains, channels
		signal.BiquadTypes(),   // the second-order filter
		signal.FilterTypes(),   // other filters, taps
		signal.DynamicsTypes(), // followers, gains by level, waveshapers
		spectral.Types(),       // transforms, mel features
		signal.NeuralTypes(),   // layers of models
		signal.MeterTypes(),    // loudness
		signal.SourceTypes(),   // slow waves, noise
		signal.NoteTypes(),     // voices of notes
		signal.DelayTypes(),    // the delay line
		signal.ResampleTypes(), // changes of rate
		signal.WaveTypes(),     // oscillators
		signal.SynthTypes(),    // synthesisers of DDSP, quantisation, embeddings
	)
}
