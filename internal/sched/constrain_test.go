package sched

import (
	"regexp"
	"testing"

	"atenia/internal/grammar"
	"atenia/internal/sample"
)

// letters makes constraints to a small language, and limit to any, over the ids as bytes.
func (m *model) letters() func() sample.Constraint {
	return m.limit(`root ::= ([!-0]{3} ("A" | [B-D]{2})){1,40} [1-9]`)
}

func (m *model) limit(gbnf string) func() sample.Constraint {
	m.t.Helper()
	text := make([][]byte, m.Config.Vocab)
	for id := range min(256, len(text)) {
		text[id] = []byte{byte(id)}
	}
	g, err := grammar.Parse(nil, gbnf)
	if err != nil {
		m.t.Fatal(err)
	}
	a, err := grammar.NewVocabulary(text, nil, false).Compile(nil, g)
	if err != nil {
		m.t.Fatal(err)
	}
	return func() sample.Constraint { return a.Start() }
}

// A constrained answer is in its language, complete within its tokens, and ends
// with "stop" as soon as nothing can follow. The logits that others see are those
// of the model.
func TestConstrained(t *testing.T) {
	m := open(t, "llama3")
	s := m.start(small, Config{Slots: 2})
	language := regexp.MustCompile(`^([!-0]{3}(A|[B-D]{2})){1,40}[1-9]$`)
	for i := range 12 {
		r := Request{Prompt: m.tokens(uint64(i), 5), MaxTokens: 5 + 7*i, Constrain: m.letters()}
		if i%2 == 1 {
			r.Sampling = sample.Params{Temperature: 1.5, TopK: 3, Seed: uint64(i), RepeatPenalty: 1.3}
		}
		a := submit(t, s, r)
		a.collect()
		var text []byte
		for _, id := range a.tokens {
			text = append(text, byte(id))
		}
		if err := a.st.Err(); err != nil || a.st.Finish() != FinishStop || !language.Match(text) {
			t.Errorf("%d tokens: %q ended with %q, %v", r.MaxTokens, text, a.st.Finish(), err)
		}
	}
}
