package sample

import "math"

// A Constraint limits the tokens of one sequence, such as to those of a grammar.
type Constraint interface {
	// Allowed returns the set of tokens that may come next, a bit for each id,
	// when at most left tokens may still follow, the next one included. The set
	// is valid until the next call of a method other than Follows, which may be called
	// meanwhile by another goroutine.
	Allowed(left int) ([]uint64, error)
	// Accept follows the token that was chosen.
	Accept(id int32) error
	// Follows returns how many of ids, from the first on, could follow one after
	// another, however many tokens are left. It accepts none of them.
	Follows(ids []int32) int
	// Done reports whether the sequence is complete, so that no token may follow.
	Done() bool
}

// SampleAllowed is [Sampler.Sample] among the tokens of a set, a bit for each id;
// nil is all tokens. The others get the probability 0 before bias and stages.
// Log-probabilities remain those of the model's own distribution.
func (s *Sampler) SampleAllowed(logits []float32, allowed []uint64) (Choice, error) {
	if allowed == nil || len(logits) != s.vocab {
		return s.Sample(logits)
	}
	if s.allowed == nil {
		s.allowed = make([]float32, s.vocab)
	}
	for i := 0; i < len(logits); i += 64 {
		from := logits[i:min(i+64, len(logits))]
		to := s.allowed[i:][:len(from)]
		word := uint64(0)
		if i>>6 < len(allowed) {
			word = allowed[i>>6]
		}
		for k, l := range from {
			if !(l <= math.MaxFloat32) {
				return Choice{}, &LogitsError{i + k, l}
			}
			if word>>k&1 == 0 {
				l = negInf
			}
			to[k] = l
		}
	}
	return s.sample(s.allowed, logits)
}
