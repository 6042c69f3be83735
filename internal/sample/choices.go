package sample

import "unicode/utf8"

// Choices counts right answers.
type Choices struct {
	Right, RightByLength Sum
}

// Add adds a question by the log-probabilities of its choices, of which the one at
// answer is right. The raw answer is the most probable one, the normalized one that
// of the largest log-probability for each character.
func (c *Choices) Add(choices []string, answer int, logs []float64) {
	raw, norm := 0, 0
	by := func(i int) float64 { return logs[i] / float64(utf8.RuneCountInString(choices[i])) }
	for i := range logs {
		if logs[i] > logs[raw] {
			raw = i
		}
		if by(i) > by(norm) {
			norm = i
		}
	}
	c.Right.Add(truth(raw == answer))
	c.RightByLength.Add(truth(norm == answer))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
