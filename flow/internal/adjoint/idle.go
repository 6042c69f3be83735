package adjoint

import "atenia/flow/node"

// Idle is told of calls and keeps nothing: blocks that are run to get on.
type Idle[F node.Float] struct{}

func (Idle[F]) Begin()                                                             {}
func (Idle[F]) Restart()                                                           {}
func (Idle[F]) Room(int, int, int) []F                                             { return nil }
func (Idle[F]) Before(int, node.Instance[F], *node.Call[F], []node.Tensor[F], int) {}
func (Idle[F]) After(int, *node.Call[F], float64)                                  {}
