package neuron

import (
	"atenia/grad"
)

type edgeMaps[F grad.Float] struct{ ready bool }
type space[F grad.Float] struct{}
type jobKind int

const jobBind jobKind = iota

type job[F grad.Float] struct {
	g    *Grid[F]
	kind jobKind
}

func (j *job[F]) Range(worker, lo, hi int) {
	for n := lo; n < hi; n++ {
		l := &j.g.lanes[worker]
		l.reset()
		j.g.bind(l, n)
	}
}

// Step runs one tick and changes the state.
func (g *Grid[F]) Step(s *State[F], t *Tick[F]) { panic("later") }

// HIn writes W_in·B' + b_in [N][B][D] from the neighbours' last h_final and, unless
// emb is nil, the embeddings [B][D_e] of a boundary's codes.
func (g *Grid[F]) HIn(dst []F, s *State[F], emb []F, modality int) { panic("later") }

// Register sets the backward function of windows.
func Register[F grad.Float](r *grad.Registry[F]) { panic("later") }

// Window records T tokens of K ticks each on a tape: emb is [T][B][D_e], refs are
// the parameters by the names of the inventory, whose values [Grid.Bind] saw. s
// moves on by the window; no gradient goes into it.
func (g *Grid[F]) Window(t *grad.Tape[F], refs map[string]grad.Ref, s *State[F], emb []F, T int, o Options) (Outcome[F], error) {
	panic("later")
}

// Guard rescales W_corr of neurons whose ‖I − W_corr·W_pred‖₂ is over 0.98,
// to be called after an optimizer step and before Bind. It returns how many.
func Guard[F grad.Float](w any) int { panic("later") }
