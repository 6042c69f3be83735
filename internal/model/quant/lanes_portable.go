//go:build !amd64 || noasm

package quant

func affineTrial(x, w []float32, top float32, s *affineState, below bool) {
	affineTrialGeneric(x, w, top, s, below)
}

func centredTrial(x, w []float32, lo, hi float32, peak *lane8, part float32, s *centredState) {
	centredTrialGeneric(x, w, lo, hi, peak, part, s)
}

func fitLoss(x, w []float32, lo, hi float32, scale, offset, sum *lane8) {
	fitLossGeneric(x, w, lo, hi, scale, offset, sum)
}
