package quila

import (
	"context"
	"time"

	"atenia/grad"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
	"atenia/quila/internal/sxlm"
)

// An Evaluation reads the validation text of the toy corpus, or another, with a
// model file. Its libraries are recalled from, as in training; its look-up memory is
// not read.
type Evaluation struct {
	File    string
	Text    []byte // nil is the validation text of quila-toy-v1
	FP8     bool   // messages between neurons are rounded to E4M3
	Short   bool   // a quarter of the text, as during training
	Threads int    // 0 is the number of processors
}

// An Evaluated is what an evaluation found.
type Evaluated struct {
	Bits   float64            `json:"bits"` // a character
	Kinds  map[string]float64 `json:"kinds,omitempty"`
	Tokens int                `json:"tokens"`
	// Floor is the entropy of the text; 0 if it is not known.
	Floor           float64 `json:"floor,omitempty"`
	TokensPerSecond float64 `json:"tokens_per_second"` // 32 sessions together
}

// Run evaluates.
func (o Evaluation) Run(ctx context.Context) (*Evaluated, error) {
	m, err := sxlm.Read(ctx, o.File, sxlm.Options{})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	threads := grad.NewThreads(threadsOr(o.Threads))
	defer threads.Close()
	n, err := network.With(m.Config, m.Graph, m.Weights, threads)
	if err != nil {
		return nil, err
	}
	stores, err := sxlm.OpenStores(ctx, m, sxlm.StoreOptions{})
	if err != nil {
		return nil, err
	}
	defer stores.Close()
	p := school.Network(n)
	p.Open = func(batch int, learn bool) school.Stream {
		s := n.Open(batch, learn)
		s.Options.FP8 = s.Options.FP8 || o.FP8
		s.Options.Recall = stores.Recaller()
		return s
	}
	out, text, limit := &Evaluated{}, o.Text, 0
	if text == nil {
		v := school.ToyValidation()
		text, out.Floor, out.Kinds = v.Text, v.Entropy, map[string]float64{}
	}
	if o.Short {
		limit = school.Glance
	}
	start := time.Now()
	s, err := school.Evaluate(ctx, &p, text, limit)
	if err != nil {
		return nil, err
	}
	out.Bits, out.Tokens, out.TokensPerSecond = s.Bits, s.Tokens, float64(s.Tokens)/time.Since(start).Seconds()
	if out.Kinds != nil {
		for k := range school.KindCount {
			out.Kinds[k.String()] = s.Kinds[k]
		}
	}
	return out, nil
}
