package fit

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/model/text"
	"atenia/internal/store/durable"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/recipe"
)

// newModel creates the model of a recipe for a tokenizer, within its budget.
func newModel(r *recipe.Recipe, o Options, t *text.Text, s *data.Set, p *grad.Threads, threads int) (model, *budget, error) {
	if r.Model.Architecture == train.NestedType {
		c, err := r.Nested(t.Tokenizer.VocabSize())
		if err != nil {
			return nil, nil, err
		}
		m, err := train.NewNested(c, r.Data.Rows, p) // a lane is a row of the batch
		return m, &budget{}, err
	}
	j := job{Recipe: r, Resume: o.Resume, Vocabulary: t.Tokenizer.VocabSize(), Threads: p, Workers: threads, Fill: s.Fill, Senses: s.Encoders()}
	j.Rows, j.Documents = s.Most()
	if len(t.Stop) > 0 {
		j.Stop = int(t.Stop[0])
	}
	return open(&j)
}

// folder rejects a model that is not a folder: a GGUF file has neither the
// tensor names nor the tokenizer that the result needs.
func folder(from string) error {
	if from == "" {
		return nil
	}
	st, err := durable.Stat(from)
	if err == nil && !st.IsDir() {
		return fmt.Errorf("%w: %s is a file, want the folder of a model with config.json, *.safetensors and tokenizer.json: train that, then make a GGUF file of the result", recipe.ErrRecipe, from)
	}
	return err
}
