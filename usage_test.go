package atenia_test

import (
	"testing"

	"atenia"
)

// usageOf generates and returns what the last token counts, and how many came.
func usageOf(t *testing.T, m *atenia.Model, p atenia.Prompt) (u atenia.Usage, ids []int32, finish string) {
	t.Helper()
	for tok, err := range m.Generate(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if tok.Usage != nil {
			return *tok.Usage, ids, tok.Finish
		}
		ids = append(ids, tok.ID)
	}
	t.Fatal("no usage")
	return u, nil, ""
}

// TestUsage counts the tokens of a prompt, of what was cached of it, and of the answer:
// up to the length, a stop string, and in a second turn.
func TestUsage(t *testing.T) {
	m := open(t, nil)
	prompt := []int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	p := atenia.Prompt{Tokens: prompt, Options: atenia.Options{MaxTokens: 20, IgnoreEnd: true}}
	u, ids, _ := usageOf(t, m, p)
	if want := (atenia.Usage{Prompt: 10, Answer: 20}); u != want || len(ids) != 20 {
		t.Errorf("%+v for %d tokens, want %+v", u, len(ids), want)
	}
	if u, _, _ := usageOf(t, m, p); u != (atenia.Usage{Prompt: 10, Cached: 9, Answer: 20}) {
		t.Errorf("again: %+v, want all but the last token of the prompt cached", u)
	}
	next := p
	next.Tokens = append(append(prompt[:10:10], ids...), 5, 6)
	if u, _, _ := usageOf(t, m, next); u != (atenia.Usage{Prompt: 32, Cached: 29, Answer: 20}) {
		t.Errorf("second turn: %+v, want 10 of the prompt and 19 of the answer cached", u)
	}
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	stop := p
	stop.Stop = []string{tok.Decode(ids[:8], true)}
	u, seen, finish := usageOf(t, m, stop)
	if finish != "stop" || u.Answer != len(seen) || u.Answer == 0 || u.Answer > 8 {
		t.Errorf("stop string: %s, %+v for %d tokens, want the tokens up to it", finish, u, len(seen))
	}
}
