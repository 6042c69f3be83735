package speech

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// A hypothesis is one way to go on, with the sum of the logarithms of its tokens'
// probabilities.
type hypothesis struct {
	line *Line
	said []int32
	sum  float64
	done bool
}

// Decoded is what a search made of a window.
type Decoded struct {
	Tokens      []int32 // without the end
	Mean        float64 // logarithm of the probability of a token
	NoSpeech    float64 // probability that nothing is said
	Temperature float64
	Compression float64 // bytes of the text over those of its compressed form
}

// A search decodes one window.
type search struct {
	r     *Runner
	o     order
	begin []int32 // what the decoder is given
	sot   int     // of these, the one after which NoSpeech is read
	most  int     // tokens at most
}

// start runs the beginning and returns its line, the logits after it, and how
// likely it is that nothing is said.
func (s *search) start(ctx context.Context, source []float32) (*Line, []float32, float64, error) {
	line := s.r.Open(source)
	rows, err := s.r.Feed(ctx, line, s.begin, s.sot)
	if err != nil {
		line.Close()
		return nil, nil, 0, err
	}
	return line, rows[len(rows)-1], probability(rows[0], s.o.t.NoSpeech), nil
}

// sample decodes best-of lines at a temperature; 0 is one greedy line.
func (s *search) sample(ctx context.Context, source []float32, temperature float64, best int, rng *rand.Rand) (Decoded, error) {
	line, first, quiet, err := s.start(ctx, source)
	if err != nil {
		return Decoded{}, err
	}
	if temperature == 0 {
		best = 1
	}
	hs, err := s.spread(line, best)
	defer func() { closeAll(hs) }()
	if err != nil {
		return Decoded{}, err
	}
	logits := make([][]float32, len(hs))
	for i := range hs {
		logits[i] = slices.Clone(first)
	}
	for i := range s.most {
		var live []*Line
		var next []int32
		var at []int
		for i, h := range hs {
			if h.done {
				continue
			}
			l := logits[i]
			s.o.apply(l, h.said)
			id := pick(l, temperature, rng)
			logProbs(l)
			h.sum += float64(l[id])
			if id == s.o.t.End {
				h.done = true
				continue
			}
			h.said = append(h.said, id)
			live, next, at = append(live, h.line), append(next, id), append(at, i)
		}
		if len(live) == 0 || i == s.most-1 {
			break
		}
		rows, err := s.r.Step(ctx, live, next)
		if err != nil {
			return Decoded{}, err
		}
		for k, i := range at {
			logits[i] = rows[k]
		}
	}
	return s.rank(hs, quiet, temperature), nil
}

// spread forks a line into n hypotheses.
func (s *search) spread(line *Line, n int) ([]*hypothesis, error) {
	hs := []*hypothesis{{line: line}}
	for len(hs) < n {
		f, err := line.Fork()
		if err != nil {
			return hs, err
		}
		hs = append(hs, &hypothesis{line: f})
	}
	return hs, nil
}

func closeAll(hs []*hypothesis) {
	for _, h := range hs {
		if h.line != nil {
			h.line.Close()
			h.line = nil
		}
	}
}

// pick draws a token, or takes the first of the likeliest at temperature 0.
func pick(logits []float32, temperature float64, rng *rand.Rand) int32 {
	best := int32(0)
	for i, v := range logits {
		if v > logits[best] {
			best = int32(i)
		}
	}
	if temperature == 0 {
		return best
	}
	top, sum := float64(logits[best]), 0.0
	for _, v := range logits {
		sum += math.Exp((float64(v) - top) / temperature)
	}
	u := rng.Float64() * sum
	for i, v := range logits {
		if u -= math.Exp((float64(v) - top) / temperature); u < 0 {
			return int32(i)
		}
	}
	return best
}

// beam keeps the likeliest width lines until patience times as many have ended.
func (s *search) beam(ctx context.Context, source []float32, width int, patience float64) (Decoded, error) {
	line, first, quiet, err := s.start(ctx, source)
	if err != nil {
		return Decoded{}, err
	}
	live := []*hypothesis{{line: line}}
	var ended []*hypothesis
	defer func() { closeAll(live) }()
	logits := [][]float32{slices.Clone(first)}
	enough := int(math.Round(float64(width) * patience))
	for i := range s.most {
		type choice struct {
			from int
			id   int32
			sum  float64
		}
		var all []choice
		for i, h := range live {
			s.o.apply(logits[i], h.said)
			logProbs(logits[i])
			for _, id := range largest(logits[i], width+1) {
				all = append(all, choice{i, id, h.sum + float64(logits[i][id])})
			}
		}
		slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(b.sum, a.sum) })
		var next []choice
		for _, c := range all {
			if math.IsInf(c.sum, -1) {
				break
			}
			if c.id == s.o.t.End {
				if len(ended) < enough {
					ended = append(ended, &hypothesis{said: live[c.from].said, sum: c.sum, done: true})
				}
				continue
			}
			if next = append(next, c); len(next) == width {
				break
			}
		}
		if len(ended) >= enough || len(next) == 0 {
			break
		}
		grown := make([]*hypothesis, 0, len(next))
		for _, c := range next {
			f, err := live[c.from].line.Fork()
			if err != nil {
				closeAll(grown)
				return Decoded{}, err
			}
			grown = append(grown, &hypothesis{line: f, said: append(slices.Clone(live[c.from].said), c.id), sum: c.sum})
		}
		closeAll(live)
		live = grown
		if i == s.most-1 {
			break
		}
		lines, ids := make([]*Line, len(live)), make([]int32, len(live))
		for i, h := range live {
			lines[i], ids[i] = h.line, h.said[len(h.said)-1]
		}
		if logits, err = s.r.Step(ctx, lines, ids); err != nil {
			return Decoded{}, err
		}
	}
	all := slices.Clone(ended)
	if len(all) < width { // lines that were cut off take the places that are left
		rest := slices.Clone(live)
		slices.SortStableFunc(rest, func(a, b *hypothesis) int { return cmp.Compare(b.sum, a.sum) })
		all = append(all, rest[:min(len(rest), width-len(all))]...)
	}
	return s.rank(all, quiet, 0), nil
}

// largest returns the indices of the n largest values, the largest first; of
// equals the first.
func largest(v []float32, n int) []int32 {
	top := make([]int32, 0, n+1)
	for i, x := range v {
		if len(top) == n && x <= v[top[n-1]] {
			continue
		}
		at := len(top)
		for at > 0 && v[top[at-1]] < x {
			at--
		}
		top = slices.Insert(top, at, int32(i))
		if len(top) > n {
			top = top[:n]
		}
	}
	return top
}

// rank returns the hypothesis that is likeliest by token.
func (s *search) rank(hs []*hypothesis, quiet, temperature float64) Decoded {
	if len(hs) == 0 {
		return Decoded{NoSpeech: quiet, Temperature: temperature, Mean: math.Inf(-1)}
	}
	score := func(h *hypothesis) float64 { return h.sum / float64(max(1, len(h.said))) }
	best := hs[0]
	for _, h := range hs[1:] {
		if score(h) > score(best) {
			best = h
		}
	}
	return Decoded{Tokens: best.said, Mean: best.sum / float64(len(best.said)+1), NoSpeech: quiet, Temperature: temperature}
}
