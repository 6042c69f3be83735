package fit

import (
	"cmp"
	"fmt"

	"atenia/grad"
	"atenia/internal/tape"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/recipe"
)

// A model is a learner that reports its size.
type model interface {
	train.Exporter
	// Size returns the number of values, and how many of them are trained.
	Size() (all, trained int)
}

// A job is what a model is made for.
type job struct {
	Recipe     *recipe.Recipe
	Resume     bool
	Vocabulary int // tokens
	Stop       int // token that ends a text
	Threads    *grad.Threads
	Workers    int // of Threads
	// Rows and Documents are the tokens and documents of the largest batch of an encoder;
	// 0 = as the recipe says.
	Rows, Documents int
	// Fill gives batches the rows of images and sounds.
	Fill func(dst *tape.Batch, b *data.Batch) error
	// Senses are what encodes them; nil = there are none.
	Senses *data.Senses
}

// options returns those of a model in memory.
func (j *job) options() ModelOptions {
	r := j.Recipe
	return ModelOptions{Threads: j.Threads, Recompute: r.Train.Recompute, BF16: r.Train.Precision == "bf16" || r.Optimizer.Offload, Balance: r.Train.Balance,
		Fill: j.Fill, Documents: cmp.Or(j.Documents, r.Data.Rows), Temperature: r.Train.Temperature, GPTQZeros: r.Model.GPTQZeros}
}

// model makes the model. base is what pairs are trained of, or the model itself.
func (j *job) model(opt ModelOptions) (m model, base *Model, err error) {
	r := j.Recipe
	if r.Model.From == "" {
		base, err = j.initial(opt)
		return base, base, err
	}
	if base, err = openModel(r.Model.From, opt); err != nil {
		return nil, nil, err
	}
	if n := j.Vocabulary; n > base.Vocabulary() {
		return nil, nil, fmt.Errorf("the tokenizer has %d tokens and the model %d: they do not belong together", n, base.Vocabulary())
	}
	c, ok := r.Adapter()
	if !ok {
		return base, base, nil
	}
	m, err = adapt(base, c, r.Train.Seed, r.LoRA.Merge)
	return m, base, err
}

// initial makes a new model.
func (j *job) initial(opt ModelOptions) (*Model, error) {
	m, s := j.Recipe.Model, Sizes{}
	s.Vocabulary, s.Hidden, s.Layers, s.Heads, s.KVHeads = j.Vocabulary, m.Hidden, m.Layers, m.Heads, m.KVHeads
	s.FFN, s.Context, s.RopeTheta, s.NormEps, s.Untied, s.Stop = m.FFN, m.Context, m.RopeTheta, m.NormEps, m.Untied, j.Stop
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	l, err := New(config, opt)
	if err != nil {
		return nil, err
	}
	l.Init(j.Recipe.Train.Seed, m.Deviation)
	return l, nil
}
