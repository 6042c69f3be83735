package job

import (
	"errors"
	"path/filepath"

	"atenia/internal/model/file"
	"atenia/internal/model/lora"
	"atenia/internal/train/planned"
	"atenia/internal/train/recipe"
)

// mergedFolder is the subdirectory of a job for the merged model.
const mergedFolder = "merged"

// An adapted model trains and exports low-rank pairs.
type adapted struct {
	*planned.Model
	adapter *lora.Adapter
	from    string
	merge   bool
}

// adapt attaches pairs to a model.
func adapt(m *planned.Model, c lora.Config, r *recipe.Recipe) (model, error) {
	a, err := lora.New(c, m.Matrices(), r.Train.Seed)
	if err != nil {
		return nil, err
	}
	return &adapted{m, a, r.Model.From, r.LoRA.Merge}, m.Attach(a)
}

// merged returns the folder for the merged model, "" if it is not requested.
func (m *adapted) merged(dir string) string {
	if !m.merge {
		return ""
	}
	return filepath.Join(dir, mergedFolder)
}

// Export writes the adapter and, if requested, the merged model.
func (m *adapted) Export(dir string) (err error) {
	if err := m.adapter.Write(nil, dir); err != nil || !m.merge {
		return err
	}
	d, err := file.Open(m.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return m.adapter.Merge(nil, d, m.merged(dir))
}
