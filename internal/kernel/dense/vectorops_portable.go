//go:build !amd64 || noasm

package dense

import "atenia/internal/kernel"

func addMul32(dst, a, b []float32) { addMulGeneric(dst, a, b) }

func weigh32(d, p []float32, c float32) { weighGeneric(d, p, c) }

func addWeighed32(dst, p, d []float32, c float32) { addWeighedGeneric(dst, p, d, c) }

func scaled32(dst, x []float32, s float32) { scaledGeneric(dst, x, s) }

func exps32(x []float32, c float32) { expsGeneric(x, c) }

func addExps32(dst, x []float32, c, s float32) { addExpsGeneric(dst, x, c, s) }

func slopes32(a Activation, dst, x []float32) bool { return slopesGeneric(a, dst, x) }

func sumExps32(acc *kernel.Lanes, x []float32, c float32) { sumExpsGeneric(acc, x, c) }

func dotLanes32(acc *[2]kernel.Lanes, a, b []float32) { dotLanesGeneric(acc, a, b, 0) }

func matVec32(dst, m, x []float32) { matVecGeneric(dst, m, x) }

func matVecT32(dst, m, x []float32) { matVecTGeneric(dst, m, x, 0) }

func addOuter32(m []float32, s float32, x, y []float32) { addOuterGeneric(m, s, x, y, 0) }

func scaleAddOuter32(m []float32, r, s float32, x, y []float32) {
	scaleAddOuterGeneric(m, r, s, x, y, 0)
}

func siluMulBack32(_, _, _, _, _ []float32) int { return 0 }
