package train

import (
	"io"

	"atenia/grad"
	"atenia/internal/store/durable"
	"atenia/internal/train/data"
)

// A Param is one trained tensor, owned by a learner. Learners add to Grad; the
// trainer updates Value in place and then zeroes Grad.
//
// In [Learner.Backward] a learner sets Hold for a parameter that is not due: the
// trainer then neither steps it nor clears Grad, nor includes it in the gradient
// norm. Levels of a nested model that are updated at intervals accumulate their
// gradients in this way.
type Param = grad.Param[float32]

// A Learner is a model that can be trained: parameters and a differentiable
// loss. It must be used by one goroutine at a time. The same calls give the same
// bits for any number of threads.
type Learner interface {
	// Params returns the trained parameters, always the same in the same order.
	Params() []*Param
	// Backward adds to each Grad the gradient of share times the loss, which is the
	// mean cross-entropy, in nats, over the counted positions of b ([data.Batch.Counted]). It returns that
	// mean, not scaled by share. The share of a batch is its part of a step's
	// counted positions, so that the gradients of several batches add up to that of
	// their mean.
	Backward(b *data.Batch, share float64) (loss float64, err error)
	// Loss returns the mean loss like Backward, without side effects.
	Loss(b *data.Batch) (float64, error)
}

// A grader is a [Learner] whose losses have answers that are right or wrong.
type grader interface {
	Learner
	// Met returns how many of the counted goals of the last batch the model was right
	// about, false if it has none.
	Met() (n int, ok bool)
}

// A stateKeeper is a [Learner] with state beyond its parameters. A snapshot includes
// what Save writes.
type stateKeeper interface {
	Learner
	Save(w io.Writer) error
	// Restore reads what Save wrote, into a learner created alike.
	Restore(r io.Reader) error
}

// An Exporter is a [Learner] that can write a model folder: model.safetensors
// and config.json. The trainer adds the tokenizer's files.
type Exporter interface {
	Learner
	// Export writes the files with the current parameters. A nil file system is the
	// operating system's.
	Export(fsys durable.FS, dir string) error
}
