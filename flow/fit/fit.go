package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/grad"
)

// Settings configure [Fit]. The zero value is ready to use.
type Settings struct {
	Steps  int             // maximum number; 0: 200
	Rate   float64         // learning rate of the first step; 0: 0.05
	Last   float64         // learning rate of the last step relative to Rate, approached on a half cosine; 0: 0.01
	Enough float64         // loss at which fitting stops
	Rule   grad.UpdateRule // nil: AdamW without decay
	// Each is called after every step, if it is not nil.
	Each func(step int, loss float64)
}

func (s *Settings) defaults() {
	if s.Steps == 0 {
		s.Steps = 200
	}
	if s.Rate == 0 {
		s.Rate = 0.05
	}
	if s.Last == 0 {
		s.Last = 0.01
	}
	if s.Rule == nil {
		s.Rule = grad.AdamW{}
	}
}

// A Result is the best of the visited points.
type Result struct {
	Steps       int     // taken
	First, Loss float64 // at the start and at the best point
	X           []float64
	Plan        *graph.Plan // with X
}

// Fit minimizes the loss of a problem by gradient descent. If the context ends,
// it returns the best point so far together with the context's error.
func Fit[F node.Float](ctx context.Context, p *Problem[F], s Settings) (*Result, error) {
	s.defaults()
	x := p.Start()
	w := &grad.Param[float64]{Name: "x", Shape: []int{len(x)}, Value: x, Grad: make([]float64, len(x)), NoDecay: true}
	o, err := grad.NewOptimizer(s.Rule, []*grad.Param[float64]{w}, nil)
	if err != nil {
		return nil, err
	}
	best := &Result{Loss: math.Inf(1), X: slices.Clone(x)}
	for step := 0; ; step++ {
		if err = ctx.Err(); err != nil {
			break
		}
		pt, e := p.Gradient(x)
		if err = e; err != nil {
			break
		}
		if step == 0 {
			best.First = pt.Loss
		}
		if math.IsNaN(pt.Loss) {
			err = fmt.Errorf("fit: the loss of step %d is not a number: try a smaller rate", step)
			break
		}
		best.Steps = step
		if s.Each != nil {
			s.Each(step, pt.Loss)
		}
		if pt.Loss < best.Loss {
			best.Loss, best.X = pt.Loss, slices.Clone(x)
		}
		if step == s.Steps || pt.Loss <= s.Enough {
			break
		}
		copy(w.Grad, pt.Gradient)
		share := s.Last + (1-s.Last)*(1+math.Cos(math.Pi*float64(step)/float64(s.Steps)))/2
		o.Step(s.Rate*share, 1)
	}
	best.Plan = p.Plan(best.X)
	return best, err
}
