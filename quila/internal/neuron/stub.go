package neuron

import (
	"atenia/grad"
)

// messages is step 1 by messages that are rounded to E4M3.
func (u *turn[F]) messages() { panic("later") }

type adjoint[F grad.Float] struct{}

// Register sets the backward function of windows.
func Register[F grad.Float](r *grad.Registry[F]) { panic("later") }

// Window records T tokens of K ticks each on a tape: emb is [T][B][D_e], refs are
// the parameters by the names of the inventory, whose values [Grid.Bind] saw. s
// moves on by the window; no gradient goes into it.
func (g *Grid[F]) Window(t *grad.Tape[F], refs map[string]grad.Ref, s *State[F], emb []F, T int, o Options) (Outcome[F], error) {
	panic("later")
}
