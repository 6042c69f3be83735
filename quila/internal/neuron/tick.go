package neuron

import (
	"atenia/grad"
)

// A Tick is what one step of the grid reads besides weights and state. The zero
// value, with HIn and the utility's weights, is a deterministic tick at which all
// neurons fire.
type Tick[F grad.Float] struct {
	HIn                []F    // [N][B][D]: W_in·B' + b_in
	Phase              int    // of inference; 2 opens all masks and runs DRC to its cap. 0 is 5
	Streams            string // streams that run; "" is the configuration's
	Weight             F      // of the phase in the trace; 0 is 1
	Alpha, Beta, Gamma F      // weights of the utility, the Planner's
	Temperature        F      // of step 11, thermal scale included
	NoiseCM, NoiseOut  []F    // [N][B][D] unit normals, or nil
	Fire               []bool // [N][B] who fires; nil is all

	// Recall, unless nil, writes what step 6 makes of h_mid to hKFE, which
	// already has its values. It may be called by several threads at once, for
	// different neurons.
	Recall func(neuron, session int, hMid, hKFE []F)

	Seen *Trace[F] // receives intermediates, unless nil
}

// A Trace is the intermediates of a tick by the names of the reference, [N][B][…]
// but gate and h_res, which are [N][…].
type Trace[F grad.Float] struct {
	Values map[string][]F
	Counts map[string][]int // mask (0 or 1), drc_n, drc_done
}
