package neuron

import (
	"atenia/grad"
)

// Key is the tape's name of a window.
const Key grad.Key = "quila.grid"

// An Outcome is what a window made. Rows are in the order token, session,
// neuron.
type Outcome[F grad.Float] struct {
	X       grad.Ref // [T·B·N, D] h_final after every token
	Conf    grad.Ref // [T·B·N] confidences
	Utility grad.Ref // [T·B·N] moving averages of the utility

	Trace, PTrace []F // [T·B·N] traces after every token, constants; valid until the next window
	RMS           F   // root mean square of h_kfe over the window
}

// Options of a window.
type Options struct {
	Phase    int  // 0 is 5
	Modality int  // of the boundary
	FP8      bool // messages are rounded to E4M3, with a straight-through gradient
}
