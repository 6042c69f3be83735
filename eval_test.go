package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
)

// The embedded model finds a story more probable than words in disorder.
func ExampleModel_Answer() {
	m, err := atenia.Open(context.Background(), "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	qs, err := atenia.ReadQuestions(strings.NewReader(
		`{"question": "Once upon a time, there was a little", "choices": ["fox", "of", "was was"], "answer": 0}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := m.Answer(context.Background(), qs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d question, %.0f %% right\n", a.Questions, 100*a.Raw)
	// Output:
	// 1 question, 100 % right
}

const evalText = "Once upon a time, there was a little fox named Pip. Pip liked to find things in the forest. One day the fox saw a red ball. " +
	"The ball was under a big tree. Pip was happy and wanted to play. A bird came and asked if it could play too. They played all day long. " +
	"When the sun went down, Pip said goodbye and ran home. The end."

// logSoftmax in the plainest form.
func logSoftmax(x []float32) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v))
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v) - math.Log(sum)
	}
	return out
}

func TestEvaluate(t *testing.T) {
	m := open(t, nil)
	out := filepath.Join(t.TempDir(), "q.gguf")
	mix, _ := atenia.ParseMix("q4_0")
	if _, err := atenia.Quantize(t.Context(), "", out, atenia.QuantizeOptions{Mix: mix}); err != nil {
		t.Fatal(err)
	}
	q, err := atenia.Open(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	tokens, err := m.Tokenize(strings.Repeat(evalText+" ", 3))
	if err != nil {
		t.Fatal(err)
	}
	const window = 64
	if len(tokens) < 3*window {
		t.Fatalf("%d tokens", len(tokens))
	}
	done := 0
	got, err := q.Evaluate(t.Context(), tokens, atenia.EvalOptions{Window: window, Against: m, Progress: func(int, int) { done++ }})
	if err != nil {
		t.Fatal(err)
	}
	var nll, other, kl, same, n float64
	for w := range len(tokens) / window {
		ids := tokens[w*window : (w+1)*window] // the embedded model begins texts with no token
		a, err := m.Logits(t.Context(), ids, atenia.LogitsOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		b, err := q.Logits(t.Context(), ids, atenia.LogitsOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := window / 2; i+1 < window; i++ {
			p, r := logSoftmax(a[i]), logSoftmax(b[i])
			nll -= r[ids[i+1]]
			other -= p[ids[i+1]]
			top, best := 0, 0
			for j := range p {
				kl += math.Exp(p[j]) * (p[j] - r[j])
				if p[j] > p[top] {
					top = j
				}
				if r[j] > r[best] {
					best = j
				}
			}
			if top == best {
				same++
			}
			n++
		}
	}
	d := got.Divergence
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"nll", got.NLL, nll / n}, {"perplexity", got.Perplexity, math.Exp(nll / n)}, {"reference", d.Perplexity, math.Exp(other / n)},
		{"kl", d.Mean, kl / n}, {"same top", d.SameTop, same / n}, {"tokens", float64(got.Tokens), n}, {"windows", float64(done), float64(got.Windows)},
	} {
		if math.Abs(c.got-c.want) > 1e-9*math.Max(1, math.Abs(c.want)) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	if !(d.Mean > 0 && d.Median <= d.P90 && d.P90 <= d.P99 && d.P99 <= d.Max && d.ProbChanged > 0) {
		t.Errorf("divergence %+v", *d)
	}
	own, err := m.Evaluate(t.Context(), tokens[:50], atenia.EvalOptions{Against: open(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if own.Tokens != 49 || own.Divergence.Mean != 0 || own.Divergence.SameTop != 1 {
		t.Errorf("against itself: %+v, %+v", *own, *own.Divergence)
	}
}

func TestEvaluateErrors(t *testing.T) {
	m := open(t, nil)
	var bad *atenia.ConfigError
	for _, o := range []atenia.EvalOptions{{Window: 3}, {Window: 1 << 20}, {}} {
		if _, err := m.Evaluate(t.Context(), []int32{1}, o); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tokens, _ := m.Tokenize(evalText)
	for _, other := range []*atenia.Model{nil, open(t, nil)} {
		if _, err := m.Evaluate(ctx, tokens, atenia.EvalOptions{Against: other}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	if _, err := m.Answer(t.Context(), []atenia.Question{{Context: "a", Choices: []string{"b"}}}, nil); !errors.As(err, &bad) {
		t.Errorf("one choice: %v", err)
	}
}

// Answers are those of the sums of log-probabilities of the choices' tokens.
func TestAnswer(t *testing.T) {
	m := open(t, nil)
	qs := []atenia.Question{
		{Context: "The little fox saw a", Choices: []string{"big tree", "the", "zzzz"}},
		{Context: "Once upon a time, ", Choices: []string{"there was a little rabbit", "there"}},
		{Context: "The bird wanted to", Choices: []string{"play.", "ball the red of and to"}},
	}
	raw, norm := 0.0, 0.0
	for i := range qs {
		best, long := math.Inf(-1), math.Inf(-1)
		for k, c := range qs[i].Choices {
			all, _ := m.Tokenize(strings.TrimSpace(qs[i].Context) + " " + c)
			head, _ := m.Tokenize(strings.TrimSpace(qs[i].Context))
			rows, err := m.Logits(t.Context(), all, atenia.LogitsOptions{All: true})
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for j := len(head); j < len(all); j++ {
				sum += logSoftmax(rows[j-1])[all[j]]
			}
			if sum > best {
				best, qs[i].Answer = sum, k // the raw answer is right
			}
			long = max(long, sum/float64(len(c)))
		}
		if math.Abs(long-best/float64(len(qs[i].Choices[qs[i].Answer]))) < 1e-12 {
			norm++
		}
		raw++
	}
	a, err := m.Answer(t.Context(), qs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Raw != 1 || math.Abs(a.Normalized-norm/raw) > 1e-12 || norm == raw {
		t.Errorf("got %+v, want normalized %v of %v, and not all", *a, norm, raw)
	}
}
