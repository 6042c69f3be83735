package tape

import (
	"fmt"
	"slices"
	"unsafe"

	"atenia/grad"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
)

// Options choose how a step is recorded. The zero value works.
type Options[F Float] struct {
	// Recompute keeps only the values between layers and computes each layer
	// again in the backward pass (arXiv 1604.06174). Gradients are the same
	// bits.
	Recompute bool
	// Balance is the coefficient of the auxiliary loss of mixtures of experts,
	// which is added to the loss (arXiv 2101.03961).
	Balance float64
	// Threads are those of layers that are computed a second time: those of
	// the tape.
	Threads *grad.Threads
	// Alloc returns zeroed memory for the values between the blocks of a model
	// whose parameters are paged; nil takes Go's heap.
	Alloc func(n int) ([]F, error)
	// Rows are the most rows of a batch of such a model, if known: memory is then
	// taken once.
	Rows int
	// Documents are the most documents of a batch, if known: those of a model with an
	// encoder each have its rows.
	Documents int
}

// A Model is a compiled model that can be recorded. One goroutine may use it.
type Model[F Float] struct {
	Options[F] // may be changed between steps

	plan     *plan.ExecutionPlan
	compiled *compile.Model
	params   *Params[F]
	vocab    int
	ops      []recorder[F]
	goal     *objective[F] // of an encoder; nil = the next token
	headMost int           // logits whose gradient exists at a time; 0 = headValues
	mixtures int           // instructions that are mixtures of experts
	experts  int           // of each
	uses     [][]*leaf[F]  // weights that instructions read

	weights   []*weight[F] // by plan.WeightRef
	borrowed  []*leaf[F]
	made      []*weight[F]
	trained   []*leaf[F]
	linears   int
	ropes     []*ropes[F]
	reaches   []*reach
	imageCols int         // of the rows of images; 0 = none are read
	deep      int         // layers of the tower that the plan adds
	heard     [2]int      // rows of a source and values of each; 0 = none is read
	layers    []*layer[F] // runs of ops that make one layer each
	step      step[F]
	scratch   scratch[F]
	inner     *grad.Tape[F] // of layers that are computed twice
	inside    *step[F]      // on it
	blocks    *blocks[F]    // of a model whose parameters are paged
	registry  *grad.Registry[F]
}

// New binds the prefill plan of m to parameters. It reads which of these are
// frozen and which have low-rank pairs; their values are read at every step, and
// their Value and Grad must stay where they are. Its errors are
// [*UntrainedError] and those of package plan.
func New[F Float](m *compile.Model, params *Params[F]) (*Model[F], error) {
	if m.Plans.Prefill == nil {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "training needs a prefill plan")
	}
	if e := m.Config.Encoder; e != nil && e.Pool == "none" {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "an encoder learns with its texts as vectors, not with their tokens: choose a pooling")
	}
	out := &Model[F]{plan: planOf(m), compiled: m, params: params}
	p := out.plan
	if len(p.Inputs) < 2 || len(p.Outputs) != 1 || len(p.Instructions) == 0 || m.Config.Encoder == nil && p.Instructions[len(p.Instructions)-1].Op != plan.OpLMHead {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "want a plan from tokens and rows to the logits of a head, its last instruction")
	}
	params.makeGrads()
	adapters := table[F]()
	for i := range p.Instructions {
		if adapters[p.Instructions[i].Op] == nil {
			return nil, fmt.Errorf("instruction %d: %w", i, &UntrainedError{Op: p.Instructions[i].Op})
		}
	}
	for _, b := range p.Weights {
		recipe, ok := m.Weights[b.Name]
		if !ok {
			return nil, fmt.Errorf("%w: %s: the model has no recipe for it", plan.ErrWeightBinding, b.Name)
		}
		w, err := resolve(recipe, params)
		if err != nil {
			return nil, err
		}
		out.weights = append(out.weights, w)
	}
	var err error
	if out.ops, err = plan.Bind(p, adapters, binder[F]{out}); err != nil {
		return nil, err
	}
	out.teach()
	out.registry = &grad.Registry[F]{}
	register(out.registry)
	out.layers = out.cut()
	out.step = out.newStep()
	inside := out.newStep()
	out.inside = &inside
	if slices.ContainsFunc(params.list, (*Param[F]).Paged) {
		return out, out.pages()
	}
	return out, nil
}

// teach puts the objective of an encoder behind its last instruction.
func (m *Model[F]) teach() {
	e := m.compiled.Config.Encoder
	if e == nil {
		return
	}
	n := len(m.ops) - 1
	m.goal = &objective[F]{m: m, last: m.ops[n], out: m.plan.Outputs[0], dim: int(m.plan.Registers[m.plan.Outputs[0]].Cols), ends: e.Pool == "last"}
	m.ops[n] = m.goal
}

// Met returns how many goals of the last batch an encoder meets: queries whose answer has
// the highest cosine of all documents, scores on the right side of 0 (a target above ½ is
// right above it), labels with the highest score. false for a model of the next token.
func (m *Model[F]) Met() (n int, ok bool) {
	if m.goal == nil {
		return 0, false
	}
	return m.goal.met, true
}

// Registry returns a registry with the gradients of all blocks, for tapes.
func (m *Model[F]) Registry() *grad.Registry[F] { return m.registry }

// Params returns the parameters that the model was bound to.
func (m *Model[F]) Params() *Params[F] { return m.params }

// Bytes is the memory of a step on tape t besides parameters and their
// gradients: buffers of the tape and of the inner tape, and scratch.
func (m *Model[F]) Bytes(t *grad.Tape[F]) int64 {
	n := t.Memory().Reserved + int64(m.scratch.top)*int64(unsafe.Sizeof(F(0)))
	if m.inner != nil {
		n += m.inner.Memory().Reserved
	}
	return n
}

// Loss records the model over a batch and returns the mean cross-entropy of its
// counted labels, plus the auxiliary loss if [Options] enable it. The blocks
// must be registered with the tape ([register]). [grad.Tape.Backward] then adds
// the gradients to [Param.Grad].
//
// The batch must not change until then, and the tape must be reset before the
// next Loss of this model. Errors are [*batchError] and the tape's.
func (m *Model[F]) Loss(t *grad.Tape[F], b *Batch) (grad.Ref, error) {
	s := &m.step
	if err := s.start(t, b); err != nil {
		return 0, err
	}
	if s.borrow(); t.Err() != nil {
		return 0, t.Err()
	}
	if err := s.makeWeights(m.made); err != nil {
		return 0, err
	}
	if m.Recompute {
		for _, l := range m.layers {
			if err := l.record(s); err != nil {
				return 0, err
			}
		}
	} else {
		for _, op := range m.ops {
			if err := op.record(s); err != nil {
				return 0, err
			}
		}
	}
	loss := s.regs[m.plan.Outputs[0]]
	if m.Balance != 0 && len(s.balance) > 0 {
		aux, err := s.recordBalance()
		if err != nil {
			return 0, err
		}
		loss = t.Add(loss, t.Scale(aux, F(m.Balance)))
	}
	return loss, t.Err()
}
