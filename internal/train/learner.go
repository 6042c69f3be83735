package train

import (
	"io"

	"atenia/grad/optim"
	"atenia/internal/train/data"
)

// A Param is one tensor that is trained; a learner owns it. The trainer steps
// Value in place from Grad, to which learners add, and sets Grad to zero after a
// step.
//
// Hold is set by a learner in [Learner.Backward] for a parameter that is not
// due: the trainer then neither steps it nor clears Grad, nor counts it in the
// norm of the gradients. Levels of a nested model that learn every so many steps
// collect their errors so.
type Param = optim.Param[float32]

// A Learner is a model as the trainer sees it: parameters, and a loss that it
// can differentiate. One goroutine at a time uses it. The same calls give the
// same bits, whatever the number of threads.
type Learner interface {
	// Params returns what is trained: always the same, in the same order.
	Params() []*Param
	// Backward adds to each Grad the gradient of share times the loss: the
	// mean of the cross-entropy, in nats, over the positions of b that count.
	// It returns that mean, without share. The share of a batch is how much of
	// a step's counted positions it holds, so that several batches add up to
	// the gradient of their mean.
	Backward(b *data.Batch, share float64) (loss float64, err error)
	// Loss returns the mean that Backward does and changes nothing.
	Loss(b *data.Batch) (float64, error)
}

// A Keeper is a [Learner] that remembers more than parameters from step to
// step. A snapshot holds what Save writes.
type Keeper interface {
	Learner
	Save(w io.Writer) error
	// Restore takes back what Save wrote, into a learner that was made as the
	// saved one was.
	Restore(r io.Reader) error
}

// An Exporter is a [Learner] that can say what files a model folder needs so
// that the model runs: model.safetensors, config.json. The tokenizer's files
// are the trainer's.
type Exporter interface {
	Learner
	// Export writes the files with the parameters' present values.
	Export(dir string) error
}
