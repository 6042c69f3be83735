package sample

import "math"

// xtc is the stage [XTC], "exclude top choices": with a probability, of the candidates that are as
// likely as the threshold or more, all but the least likely go, so that what is said is less what
// is always said. It follows the sampler by p-e-w in oobabooga/text-generation-webui.
func (s *Sampler) xtc() {
	if u := float64(s.rng.Uint64()>>11) * 0x1p-53; u >= float64(s.p.XTCProbability) {
		return
	}
	low := logSumExp(s.c, float64(s.c[best(s.c)].logit)) + math.Log(float64(s.p.XTCThreshold))
	n, least := 0, float32(math.Inf(1))
	for _, x := range s.c {
		if float64(x.logit) >= low {
			n++
			least = min(least, x.logit)
		}
	}
	if n > 1 {
		s.keep(func(l float32) bool { return l <= least })
	}
}
