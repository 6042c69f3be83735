package neuron

import "atenia/grad"

// What tests from outside see.

func ConvT[F grad.Float](dst, seeds, kernel []F, z Shape) { convT(dst, seeds, kernel, z) }
