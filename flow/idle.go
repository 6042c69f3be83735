package flow

import "atenia/flow/node"

// idleInstance is the recorder that keeps nothing, for blocks that are only recomputed
// to reach a later state.
type idleInstance[F node.Float] struct{}

func (idleInstance[F]) Begin()                                                             {}
func (idleInstance[F]) Restart()                                                           {}
func (idleInstance[F]) Room(int, int, int) []F                                             { return nil }
func (idleInstance[F]) Before(int, node.Instance[F], *node.Call[F], []node.Tensor[F], int) {}
func (idleInstance[F]) After(int, *node.Call[F], float64)                                  {}
