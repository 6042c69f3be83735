package quila

import (
	"context"
	"errors"
	"time"

	"atenia/quila/internal/school"
	"atenia/quila/internal/sxlm"
)

// ErrNoNetwork is the error of saving a training of other models alone.
var ErrNoNetwork = errors.New("quila: no network was trained")

// Save writes the network with its optimizer's moments, from which training can
// continue, as a model file. After a run with stages it has what the stages learned
// besides: the libraries, the weights of their eviction, the look-up memory.
func (t *Trained) Save(ctx context.Context, path string) error {
	if t.run == nil {
		return ErrNoNetwork
	}
	m, err := sxlm.Fresh(t.network.Config, t.seed)
	if err != nil {
		return err
	}
	defer m.Close()
	m.Graph, m.Weights, m.CreatedAt, m.Step = t.network.Graph, t.network.Weights, time.Now().Unix(), uint64(t.run.Done())
	for i, p := range t.network.Params() {
		s := t.run.State(i)
		m.Moments[p.Name] = &sxlm.Moment{M: s[0], V: s[1]}
	}
	if u, ok := m.Other["codebook.usage"]; ok {
		for c, n := range school.Usage(t.run.Text()) {
			u.U64[c] = uint64(n)
		}
	}
	if t.stages != nil {
		if err := t.stages.Keep(m); err != nil {
			return err
		}
	}
	_, err = sxlm.Write(ctx, path, m, sxlm.Options{})
	return err
}
