package dense

// What tests from outside see.

func ActivateMul[F Float](a Activation, dst, gate, up []F) { activateMul(a, dst, gate, up) }

func ActivateMulBack[F Float](a Activation, dgate, dup, gate, up, dy []F) {
	activateMulBack(a, dgate, dup, gate, up, dy)
}

func SoftmaxBack[F Float](dx, y, dy []F) { softmaxBack(dx, y, dy) }
