package atenia_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"atenia"
)

// TestGenerateN compares n answers of one prompt with n requests of their own, and
// finds that the prompt was computed once.
func TestGenerateN(t *testing.T) {
	p := atenia.Prompt{Text: "Once upon a time there was a girl who liked to read long stories about dogs, and her brother, who liked to hear them in the garden", Options: atenia.Options{MaxTokens: 24, ID: "n", Sampling: atenia.Sampling{Temperature: 1.1, Seed: 5}}}
	const n = 4
	alone := open(t, nil)
	var want []answer
	for i := range n {
		q := p
		q.Sampling.Seed += uint64(i)
		want = append(want, generate(t, alone, q))
	}
	m := open(t, &atenia.Config{Slots: n})
	got := make([]answer, n)
	var wait sync.WaitGroup
	for i, seq := range m.GenerateN(t.Context(), p, n) {
		wait.Go(func() {
			var err error
			if got[i], err = collect(seq); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	reuses := 0
	for _, d := range m.Why("n") {
		if d.Action == "reuse" && d.Observed == d.Limit-1 {
			reuses++
		}
	}
	for i := range got {
		if !same(got[i], want[i]) {
			t.Errorf("answer %d: %q, want %q", i, got[i].text, want[i].text)
		}
	}
	if reuses != n-1 {
		t.Errorf("%d of %d answers begin with the prompt of another: %v", reuses, n, m.Why("n"))
	}
}

// TestChatN answers a conversation with two seeds.
func TestChatN(t *testing.T) {
	m := open(t, nil)
	c := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "A story?"}}, Options: atenia.Options{MaxTokens: 9, Sampling: atenia.Sampling{Temperature: 1.5}}}
	for i, seq := range m.ChatN(t.Context(), c, 3) {
		got, err := collect(seq)
		if err != nil {
			t.Fatal(err)
		}
		c.Sampling.Seed = uint64(i)
		if want, err := collect(m.Chat(t.Context(), c)); err != nil || !same(got, want) {
			t.Errorf("answer %d: %q, want %q (%v)", i, got.text, want.text, err)
		}
	}
}

// TestWhyOfRequest reads what was decided about a request and where it is.
func TestWhyOfRequest(t *testing.T) {
	m := open(t, nil)
	o := atenia.Options{MaxTokens: 3, ID: "one", Priority: 2, IgnoreEnd: true}
	var phases []string
	for _, err := range m.Generate(t.Context(), atenia.Prompt{Tokens: []int32{5, 6, 7, 8}, Options: o}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Requests() {
			if r.Request == "one" && !slices.Contains(phases, r.Phase) {
				phases = append(phases, r.Phase)
			}
		}
	}
	want := "[one: admit slot 1 by rule arrival: first after 0 steps one: finish slot 1 by rule length: 3 of at most 3 tokens of an answer]"
	if got := fmt.Sprint(m.Why("one")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !slices.Contains(phases, "ended") && !slices.Contains(phases, "decoding") {
		t.Errorf("seen in phases %v", phases)
	}
	if n := len(m.Requests()); n != 4 {
		t.Errorf("%d slots, want 4", n)
	}
	o.Priority = 101
	_, err := collect(m.Generate(t.Context(), atenia.Prompt{Tokens: []int32{5}, Options: o}))
	if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
		t.Errorf("a priority of 101: %v", err)
	}
}
