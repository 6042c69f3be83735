package dialect

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia"
)

// TestBias: a bias of -100 forbids a token whatever its logit is; what is no token or beyond
// the bounds is an error.
func TestBias(t *testing.T) {
	a := openaiAsk{LogitBias: map[string]float32{"0": -100, "7": 100, "9": -99.5}}
	got, err := a.bias(10)
	if err != nil || len(got) != 3 || got[0] != float32(math.Inf(-1)) || got[7] != 100 || got[9] != -99.5 {
		t.Errorf("%v: %v", err, got)
	}
	for key, v := range map[string]float32{"10": 1, "-1": 1, "a": 1, "4294967296": 1, "3": 100.5, "4": -101} {
		a := openaiAsk{LogitBias: map[string]float32{key: v}}
		if got, err := a.bias(10); err == nil {
			t.Errorf("token %s, %v: %v", key, v, got)
		}
	}
}

// TestChoices: there are 1 to 64 answers.
func TestChoices(t *testing.T) {
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, mostChoices: true, mostChoices + 1: false} {
		if got, err := (&openaiAsk{N: &n}).choices(); (err == nil) != ok || ok && got != n {
			t.Errorf("%d: %d, %v", n, got, err)
		}
	}
	if got, err := (&openaiAsk{}).choices(); got != 1 || err != nil {
		t.Errorf("not said: %d, %v", got, err)
	}
}

// TestTotal: of several answers of each prompt, the prompt counts once, what was cached of it
// is the most that any of them found, and the answers and their drafts add up.
func TestTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for range 100 {
		n, want := 1+r.IntN(4), openaiUsage{}
		var answers []*openaiAnswer
		for range 1 + r.IntN(3) {
			prompt, most := 10+r.IntN(50), 0
			for range n {
				drafted := r.IntN(9)
				u := atenia.Usage{Prompt: prompt, Cached: r.IntN(prompt), Answer: r.IntN(30), Drafted: drafted, Accepted: r.IntN(drafted + 1)}
				answers = append(answers, &openaiAnswer{said: atenia.Answer{Usage: u}})
				most = max(most, u.Cached)
				want.Answer += u.Answer
				want.AnswerDetails.Accepted += u.Accepted
				want.AnswerDetails.Rejected += u.Drafted - u.Accepted
			}
			want.Prompt += prompt
			want.Details.Cached += most
		}
		want.Total = want.Prompt + want.Answer
		if got := openaiTotal(answers, n); *got != want {
			t.Fatalf("%d of each prompt: %+v, want %+v", n, *got, want)
		}
	}
	if *openaiTotal([]*openaiAnswer{{}}, 1) != (openaiUsage{}) {
		t.Error("an answer without usage counts")
	}
}
