package sample

import "math"

// mirostatChoose chooses by Mirostat 2: it drops candidates with a surprise
// above mu bits, except the most likely, and adjusts mu by the difference
// between the surprise of the choice and the target.
func (s *Sampler) mirostatChoose() int32 {
	first := s.c[best(s.c)]
	norm := logSumExp(s.c, float64(first.logit))
	s.keep(func(l float32) bool { return (norm-float64(l))/math.Ln2 <= s.mu })
	if len(s.c) == 0 {
		s.c = append(s.c, first)
	}
	chosen := s.c[s.pick()]
	surprise := (logSumExp(s.c, float64(first.logit)) - float64(chosen.logit)) / math.Ln2
	s.mu -= float64(s.p.Mirostat.Eta) * (surprise - float64(s.p.Mirostat.Tau))
	return chosen.id
}
