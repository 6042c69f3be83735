package sample

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A LogProb is a token with its natural log-probability under the model's own
// distribution, before bias and stages.
type LogProb struct {
	ID      int32
	LogProb float32
}

// A Choice is a chosen token.
type Choice struct {
	ID int32
	// LogProb is the log-probability of ID under the model's own distribution.
	// It costs a pass over the vocabulary and is 0 unless Params.LogProbs ≥ 1.
	LogProb float32
	// Top holds the Params.LogProbs most likely tokens, most likely first, lower id
	// first among equals. The caller owns it. Tokens of probability 0 are left out.
	Top []LogProb
}

// A candidate is a token that can still be chosen.
type candidate struct {
	id    int32
	logit float32
}

// A Sampler chooses the tokens of one sequence. It is not safe for concurrent
// use. After [New] it allocates only for Choice.Top, and when an unlimited
// history grows (RepeatLast < 0, DRY.Range ≤ 0).
type Sampler struct {
	p     Params // defaults filled in
	vocab int
	bias  []bias
	steps []func(*Sampler)
	rng   *rand.PCG

	greedy bool
	plain  bool        // greedy, with unmodified logits
	direct bool        // top-k comes first and reads the logits itself
	c      []candidate // remaining candidates; a prefix of buf
	buf    []candidate // [vocab], or [TopK] if direct
	dense  bool        // c[i].id == i

	past   history
	recent penaltyWindow
	rep    dryState
	mu     float64 // Mirostat's current limit on surprise, in bits
	top    []candidate

	allowed []float32 // logits of SampleAllowed; nil until it is called
}

// New returns a sampler for a vocabulary of vocab tokens. It copies everything
// in p that the caller could modify.
func New(p Params, vocab int) (*Sampler, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if vocab < 1 || vocab > math.MaxInt32 {
		return nil, &ParamError{"vocabulary", vocab, "at least one token"}
	}
	p = p.withDefaults()
	s := &Sampler{p: p, vocab: vocab, bias: p.biases(), greedy: p.Temperature == 0}
	if n := len(s.bias); n > 0 && int(s.bias[n-1].id) >= vocab {
		return nil, &ParamError{"LogitBias", s.bias[n-1].id, "token ids inside the vocabulary"}
	}
	s.p.LogitBias = nil // s.bias is the copy
	s.p.LogProbs = min(p.LogProbs, vocab)
	s.rng = rand.NewPCG(p.Seed, pcgStream)
	s.mu = 2 * float64(p.Mirostat.Tau)

	for _, st := range p.Order {
		r := &stages[st]
		skip := s.greedy && (r.truncates || st == Temperature) || s.mirostat() && r.truncates
		if skip || !r.on(&s.p, vocab) {
			continue
		}
		if st == TopK && len(s.steps) == 0 && len(s.bias) == 0 {
			s.direct = true
			continue
		}
		s.steps = append(s.steps, r.run)
		switch st {
		case Penalties:
			s.recent = newPenaltyWindow(p.RepeatLast, vocab)
			s.past.keep(p.RepeatLast)
		case DryStage:
			s.rep = newDryState(p.DRY, vocab)
			s.past.keep(p.DRY.Range)
		}
	}
	s.past.grow()
	s.plain = s.greedy && len(s.steps) == 0 && len(s.bias) == 0
	switch {
	case s.direct:
		s.buf = make([]candidate, p.TopK)
	case !s.plain:
		s.buf = make([]candidate, vocab)
	}
	if p.LogProbs > 0 {
		s.top = make([]candidate, s.p.LogProbs)
	}
	return s, nil
}

// pcgStream separates the stream of a seed from other users of PCG.
const pcgStream = 0x9e3779b97f4a7c15

func (s *Sampler) mirostat() bool { return s.p.Mirostat.Tau > 0 && !s.greedy }

// Accept appends a token to the sequence: one of the prompt, or one that
// [Sampler.Sample] chose, which does not accept it itself. Ids outside the
// vocabulary are ignored.
func (s *Sampler) Accept(id int32) {
	if id < 0 || int(id) >= s.vocab {
		return
	}
	s.recent.push(id, &s.past)
	s.past.push(id)
}

// Sample chooses a token. It does not modify logits [vocab]. It returns a
// [LogitsError] for NaN or positive infinity and [errNoToken] if no token is
// left; negative infinity means probability 0.
func (s *Sampler) Sample(logits []float32) (Choice, error) {
	if len(logits) != s.vocab {
		return Choice{}, &lengthError{len(logits), s.vocab}
	}
	return s.sample(logits, logits)
}

// sample chooses by logits and reports the log-probabilities of own.
func (s *Sampler) sample(logits, own []float32) (Choice, error) {
	var ch Choice
	var err error
	if s.plain {
		ch.ID, err = argmaxLogits(logits)
	} else {
		ch.ID, err = s.choose(logits)
	}
	if err != nil {
		return Choice{}, err
	}
	if s.p.LogProbs > 0 {
		s.logProbs(own, &ch)
	}
	return ch, nil
}

// choose runs the stages on a copy of the logits.
func (s *Sampler) choose(logits []float32) (int32, error) {
	var err error
	if s.direct {
		s.c, s.dense = s.buf, false
		err = largest(s.c, logits)
	} else {
		err = s.copy(logits)
	}
	switch {
	case err != nil:
		return 0, err
	case s.c[best(s.c)].logit == negInf:
		return 0, errNoToken
	}
	for _, step := range s.steps {
		step(s)
	}
	switch {
	case s.greedy:
		return s.c[best(s.c)].id, nil
	case s.mirostat():
		return s.mirostatChoose(), nil
	}
	return s.c[s.pick()].id, nil
}

// copy makes every token a candidate, with the bias added.
func (s *Sampler) copy(logits []float32) error {
	buf := s.buf[:len(logits)]
	for i, l := range logits {
		if !(l <= math.MaxFloat32) {
			return &LogitsError{i, l}
		}
		buf[i] = candidate{int32(i), l}
	}
	s.c, s.dense = buf, true
	for _, b := range s.bias {
		s.c[b.id].logit = clamp(float64(s.c[b.id].logit)+float64(b.bias), s.c[b.id].logit, b.bias)
	}
	return nil
}

var negInf = float32(math.Inf(-1))

// clamp converts v to a logit. Only an operand of negative infinity, a forbidden
// token, gives probability 0: a penalty that overflows float32 does not.
func clamp(v float64, operands ...float32) float32 {
	if slices.Contains(operands, negInf) {
		return negInf
	}
	return float32(max(-math.MaxFloat32, min(v, math.MaxFloat32)))
}

// logProbs fills in the log-probabilities under the model's own distribution.
// The logits have been checked.
func (s *Sampler) logProbs(logits []float32, ch *Choice) {
	norm := logNorm(logits)
	ch.LogProb = float32(float64(logits[ch.ID]) - norm)
	top := s.top
	_ = largest(top, logits)
	ch.Top = make([]LogProb, 0, len(top))
	for _, t := range top {
		if t.logit != negInf {
			ch.Top = append(ch.Top, LogProb{t.id, float32(float64(t.logit) - norm)})
		}
	}
}
