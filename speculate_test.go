package atenia_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"atenia"
	"atenia/internal/golden/await"
)

// TestSpeculate: answers are the same with drafts and without, greedy or sampled, alone
// or at once, with a schema or stop strings; what was drafted is counted.
func TestSpeculate(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Context: 512, Slots: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	story := "Once upon a time there was a little dog. The dog had a ball. "
	prompts := []atenia.Prompt{
		{Text: strings.Repeat(story, 4), Options: atenia.Options{MaxTokens: 60, IgnoreEnd: true}},
		{Text: strings.Repeat(story, 3), Options: atenia.Options{MaxTokens: 60, Sampling: atenia.Sampling{Temperature: 0.8, Seed: 5, LogProbs: 2}}},
		{Text: story, Options: atenia.Options{MaxTokens: 80, Stop: []string{" ball"}, Sampling: atenia.Sampling{RepeatPenalty: 1.1}}},
		{Text: "[1, 2, 1, 2, ", Options: atenia.Options{MaxTokens: 60, Schema: []byte(`{"type":"array","items":{"enum":[1,2]}}`)}},
	}
	answer := func(p atenia.Prompt, how string) (text string, ids []int32, u atenia.Usage) {
		p.Speculate = how
		for tok, err := range m.Generate(context.Background(), p) {
			if err != nil {
				t.Error(err)
				return
			}
			text += tok.Text
			if ids = append(ids, tok.ID); tok.Usage != nil {
				u = *tok.Usage
			}
		}
		return text, ids, u
	}
	drafted, round := 0, 0
	var mu sync.Mutex
	await.Until(t, "a draft", func() bool { // the times of steps become known, and on a busy machine they change
		var all sync.WaitGroup
		for i, p := range prompts {
			want, wantIDs, plain := answer(p, "off")
			if plain.Drafted+plain.Accepted != 0 {
				t.Errorf("prompt %d: %+v without drafts", i, plain)
			}
			all.Go(func() {
				for _, how := range []string{"lookup", "auto", ""} {
					got, ids, u := answer(p, how)
					if got != want || !slices.Equal(ids, wantIDs) || u.Answer != plain.Answer {
						t.Errorf("prompt %d, %q: %q, want %q", i, how, got, want)
					}
					if u.Accepted > u.Drafted || u.Accepted > u.Answer {
						t.Errorf("prompt %d: %+v", i, u)
					}
					mu.Lock()
					drafted += u.Drafted
					mu.Unlock()
				}
			})
		}
		all.Wait()
		round++
		return round >= 3 && drafted > 0 || t.Failed()
	})
}

// TestSpeculateErrors: an unknown word is an error that lists those there are.
func TestSpeculateErrors(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if e, ok := errors.AsType[*atenia.ConfigError](err); !ok || e.Field != "Speculate" || !strings.Contains(err.Error(), "lookup") {
			t.Errorf("%v", err)
		}
	}
	_, err := atenia.Open(t.Context(), "", &atenia.Config{Speculate: "yes"})
	check(err)
	m, err := atenia.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, err := range m.Generate(t.Context(), atenia.Prompt{Text: "a", Options: atenia.Options{Speculate: "no"}}) {
		check(err)
	}
}
