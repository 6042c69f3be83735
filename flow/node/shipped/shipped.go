package shipped

import (
	"slices"

	"atenia/flow/node"
	"atenia/flow/node/basic"
	"atenia/flow/node/biquad"
	"atenia/flow/node/delay"
	"atenia/flow/node/dynamics"
	"atenia/flow/node/filter"
	"atenia/flow/node/meter"
	"atenia/flow/node/neural"
	"atenia/flow/node/resample"
	"atenia/flow/node/source"
	"atenia/flow/node/spectrum"
	"atenia/flow/node/wave"
)

// Types returns the table of all shipped types. It is a [graph.Catalog]; append
// to it to add types.
//
// [graph.Catalog]: https://pkg.go.dev/atenia/flow/graph#Catalog
func Types() node.Table {
	return slices.Concat(
		basic.Types(),    // endpoints, gains, channels
		biquad.Types(),   // the second-order filter
		filter.Types(),   // other filters, taps
		dynamics.Types(), // followers, gains by level, waveshapers
		spectrum.Types(), // transforms, mel features
		neural.Types(),   // layers of models
		meter.Types(),    // loudness
		source.Types(),   // slow waves, noise
		delay.Types(),    // the delay line
		resample.Types(), // changes of rate
		wave.Types(),     // oscillators
	)
}
