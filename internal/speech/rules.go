package speech

import (
	"math"
	"slices"
)

// Tokens are the special tokens of a vocabulary.
type Tokens struct {
	Start, End, Previous  int32            // <|startoftranscript|>, <|endoftext|>, <|startofprev|>
	Transcribe, Translate int32            // tasks
	NoSpeech, NoTimes     int32            // <|nospeech|>, <|notimestamps|>
	Time                  int32            // <|0.00|>: those after it are 20 ms apart
	Languages             map[string]int32 // by code; empty in a model of English alone
	Blank                 []int32          // what may not come first: a space
	Suppress              []int32          // what is not speech
}

// timeStep is the time between two timestamps in seconds.
const timeStep = 0.02

// An order is the rules for what may come next.
type order struct {
	t     *Tokens
	times bool // timestamps are wanted
	first int  // the latest first timestamp, in steps; negative = any
}

var never = float32(math.Inf(-1))

func forbid(logits []float32, ids ...int32) {
	for _, id := range ids {
		if id >= 0 && int(id) < len(logits) {
			logits[id] = never
		}
	}
}

func forbidAll(logits []float32, from, to int) {
	for i := max(0, from); i < min(to, len(logits)); i++ {
		logits[i] = never
	}
}

// apply sets the logits of tokens that may not follow said to minus infinity.
func (o *order) apply(logits []float32, said []int32) {
	t := o.t
	if len(said) == 0 {
		forbid(logits, t.Blank...)
		forbid(logits, t.End)
	}
	forbid(logits, t.Suppress...)
	forbid(logits, t.Start, t.Previous, t.Transcribe, t.Translate, t.NoSpeech)
	if !o.times {
		return
	}
	forbid(logits, t.NoTimes)
	isTime := func(id int32) bool { return id >= t.Time }
	n := len(said)
	last := n >= 1 && isTime(said[n-1])
	before := n < 2 || isTime(said[n-2])
	switch {
	case last && before: // a pair: text, or the end
		forbidAll(logits, int(t.Time), len(logits))
	case last: // one of a pair: the other, or the end
		forbidAll(logits, 0, int(t.End))
	}
	for _, id := range slices.Backward(said) {
		if isTime(id) { // never back; the same again only as the second of a pair
			least := id + 1
			if last && !before {
				least = id
			}
			forbidAll(logits, int(t.Time), int(least))
			break
		}
	}
	if n == 0 {
		forbidAll(logits, 0, int(t.Time))
		if o.first >= 0 {
			forbidAll(logits, int(t.Time)+o.first+1, len(logits))
		}
	}
	// A timestamp comes if all of them together are more likely than any text.
	top := slices.Max(logits)
	if math.IsInf(float64(top), -1) {
		return
	}
	sum := sumExp(logits[min(int(t.Time), len(logits)):], top)
	if text := slices.Max(logits[:t.Time]); sum > 0 && math.Log(sum) > float64(text-top) {
		forbidAll(logits, 0, int(t.Time))
	}
}

// sumExp returns the sum of the exponentials of logits, relative to that of the top.
func sumExp(logits []float32, top float32) (sum float64) {
	for _, v := range logits {
		sum += math.Exp(float64(v - top))
	}
	return sum
}

// logProbs turns logits into logarithms of probabilities.
func logProbs(logits []float32) {
	top := slices.Max(logits)
	z := float64(top) + math.Log(sumExp(logits, top))
	for i, v := range logits {
		logits[i] = float32(float64(v) - z)
	}
}

// probability is that of one token.
func probability(logits []float32, id int32) float64 {
	if id < 0 || int(id) >= len(logits) {
		return 0
	}
	top := slices.Max(logits)
	return math.Exp(float64(logits[id]-top)) / sumExp(logits, top)
}
