package adjoint

import "atenia/flow/node"

// Idle is the recorder that keeps nothing, for blocks that are only recomputed
// to reach a later state.
type Idle[F node.Float] struct{}

func (Idle[F]) Begin()                                                             {}
func (Idle[F]) Restart()                                                           {}
func (Idle[F]) Room(int, int, int) []F                                             { return nil }
func (Idle[F]) Before(int, node.Instance[F], *node.Call[F], []node.Tensor[F], int) {}
func (Idle[F]) After(int, *node.Call[F], float64)                                  {}
