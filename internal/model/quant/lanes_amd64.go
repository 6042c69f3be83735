//go:build !noasm

package quant

import "atenia/internal/machine/cpu"

//go:generate go run -C ../../../tools ./asm -family fit -out ../internal/model/quant/zfit_amd64.s -stubs ../internal/model/quant/zfit_amd64.go -pkg quant

// vectors is whether searches use assembly.
var vectors = cpu.HasAVX2()

func affineTrial(x, w []float32, top float32, s *affineState, below bool) {
	if !vectors {
		affineTrialGeneric(x, w, top, s, below)
		return
	}
	mask := uint32(0)
	if below {
		mask--
	}
	affineTrialAVX2(&x[0], &w[0], len(x)/laneCount, top, &s.scale[0], mask)
}

func centredTrial(x, w []float32, lo, hi float32, peak *lane8, part float32, s *centredState) {
	if !vectors {
		centredTrialGeneric(x, w, lo, hi, peak, part, s)
		return
	}
	centredTrialAVX2(&x[0], &w[0], len(x)/laneCount, lo, hi, &peak[0], part, &s.best[0])
}

func fitLoss(x, w []float32, lo, hi float32, scale, offset, sum *lane8) {
	if !vectors {
		fitLossGeneric(x, w, lo, hi, scale, offset, sum)
		return
	}
	fitLossAVX2(&x[0], &w[0], len(x)/laneCount, lo, hi, &scale[0], &offset[0], &sum[0])
}
