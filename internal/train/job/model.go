package job

import (
	"fmt"
	"os"

	"atenia/grad"
	"atenia/internal/model/file"
	"atenia/internal/text"
	"atenia/internal/train"
	"atenia/internal/train/mag"
	"atenia/internal/train/planned"
	"atenia/internal/train/recipe"
	"atenia/nested"
	"atenia/nested/rule"
)

// A model is a learner that reports its size.
type model interface {
	train.Exporter
	// Size returns the number of values, and how many of them are trained.
	Size() (all, trained int)
}

// newModel creates the model of a recipe for a tokenizer.
func newModel(r *recipe.Recipe, t *text.Text, p *grad.Threads) (model, error) {
	if r.Model.Architecture == mag.Type {
		return newMemory(r, t, p)
	}
	opt := planned.Options{Threads: p, Recompute: r.Train.Recompute, BF16: r.Train.Precision == "bf16" || r.Optimizer.Offload, Balance: r.Train.Balance}
	if r.Model.From != "" {
		l, err := continued(r.Model.From, t, opt)
		if err != nil {
			return nil, err
		}
		if c, ok := r.Adapter(); ok {
			return adapt(l, c, r)
		}
		return l, nil
	}
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

// newMemory creates a nested model. A lane is a row of the batch.
func newMemory(r *recipe.Recipe, t *text.Text, p *grad.Threads) (model, error) {
	m, y := r.Model, r.Memory
	c := nested.Config{
		Rule: rule.Name(y.Rule), Vocab: t.Tokenizer.VocabSize(), Width: m.Hidden, Heads: m.Heads, Window: y.Window, Layers: m.Layers,
		Periods: y.Periods, Chunk: y.Chunk, RopeBase: m.RopeTheta, Residual: !y.Plain, Norm: !y.Plain, KeyTaps: y.KeyTaps, Seed: r.Train.Seed,
	}
	if err := c.Composition.UnmarshalText([]byte(y.Composition)); err != nil {
		return nil, err
	}
	return mag.New(c, r.Data.Rows, p)
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
	d, err := file.Open(dir)
	if err != nil {
		return nil, err
	}
	m, err := planned.Open(d, opt)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	if n := t.Tokenizer.VocabSize(); n > m.Vocabulary() {
		return nil, fmt.Errorf("the tokenizer has %d tokens and the model %d: they do not belong together", n, m.Vocabulary())
	}
	return m, nil
}
