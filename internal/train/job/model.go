package job

import (
	"fmt"
	"os"

	"atenia/grad"
	"atenia/internal/text"
	"atenia/internal/train"
	"atenia/internal/train/fit"
	"atenia/internal/train/mag"
	"atenia/internal/train/planned"
	"atenia/internal/train/recipe"
)

// A model is a learner that reports its size.
type model interface {
	train.Exporter
	// Size returns the number of values, and how many of them are trained.
	Size() (all, trained int)
}

// newModel creates the model of a recipe for a tokenizer, within its budget.
func newModel(r *recipe.Recipe, o Options, t *text.Text, p *grad.Threads, threads int) (model, *fit.Budget, error) {
	if r.Model.Architecture == mag.Type {
		c, err := r.Nested(t.Tokenizer.VocabSize())
		if err != nil {
			return nil, nil, err
		}
		m, err := mag.New(c, r.Data.Rows, p) // a lane is a row of the batch
		return m, &fit.Budget{}, err
	}
	opt := planned.Options{Threads: p, Recompute: r.Train.Recompute, BF16: r.Train.Precision == "bf16" || r.Optimizer.Offload, Balance: r.Train.Balance}
	open := func(opt planned.Options) (model, error) {
		if r.Model.From != "" {
			return openModel(r, t, opt)
		}
		return initial(r, t, opt)
	}
	return fit.Open(r, o.Resume, threads, opt, open, func(m model) *planned.Model {
		if a, ok := m.(*planned.Adapted); ok {
			return a.Model
		}
		return m.(*planned.Model)
	})
}

// openModel opens the model to continue from, or to adapt.
func openModel(r *recipe.Recipe, t *text.Text, opt planned.Options) (model, error) {
	l, err := continued(r.Model.From, t, opt)
	if err != nil {
		return nil, err
	}
	if c, ok := r.Adapter(); ok {
		return planned.Adapt(l, c, r.Train.Seed, r.LoRA.Merge)
	}
	return l, nil
}

// initial makes a new model.
func initial(r *recipe.Recipe, t *text.Text, opt planned.Options) (model, error) {
	m, s := r.Model, planned.Sizes{}
	s.Vocabulary, s.Hidden, s.Layers, s.Heads, s.KVHeads = t.Tokenizer.VocabSize(), m.Hidden, m.Layers, m.Heads, m.KVHeads
	s.FFN, s.Context, s.RopeTheta, s.NormEps, s.Untied = m.FFN, m.Context, m.RopeTheta, m.NormEps, m.Untied
	if len(t.Stop) > 0 {
		s.Stop = int(t.Stop[0])
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	l, err := planned.New(config, opt)
	if err != nil {
		return nil, err
	}
	l.Init(r.Train.Seed, m.Deviation)
	return l, nil
}

// folder rejects a model that is not a folder: a GGUF file has neither the
// tensor names nor the tokenizer that the result needs.
func folder(from string) error {
	if from == "" {
		return nil
	}
	st, err := os.Stat(from)
	if err == nil && !st.IsDir() {
		return fmt.Errorf("%w: %s is a file, want the folder of a model with config.json, *.safetensors and tokenizer.json: train that, then make a GGUF file of the result", recipe.ErrRecipe, from)
	}
	return err
}

// continued opens the model to continue training from.
func continued(dir string, t *text.Text, opt planned.Options) (*planned.Model, error) {
	m, err := planned.Open(dir, opt)
	if err != nil {
		return nil, err
	}
	if n := t.Tokenizer.VocabSize(); n > m.Vocabulary() {
		return nil, fmt.Errorf("the tokenizer has %d tokens and the model %d: they do not belong together", n, m.Vocabulary())
	}
	return m, nil
}
