package score

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestLogProb(t *testing.T) {
	if got := LogProb([]float32{1000, 1000}, 1); math.Abs(got+math.Ln2) > 1e-12 {
		t.Errorf("got %v", got)
	}
	x := []float32{0.5, -1, 2}
	sum := 0.0
	for i := range x {
		sum += math.Exp(LogProb(x, int32(i)))
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("probabilities add to %v", sum)
	}
}

func TestSum(t *testing.T) {
	var s Sum
	if s.Mean() != 0 || s.Error() != 0 {
		t.Error("of nothing")
	}
	for _, x := range []float64{1, 2, 3, 4} {
		s.Add(x)
	}
	if want := math.Sqrt(5. / 3 / 4); s.Mean() != 2.5 || math.Abs(s.Error()-want) > 1e-12 {
		t.Errorf("%v ± %v, want 2.5 ± %v", s.Mean(), s.Error(), want)
	}
}

func TestDivergence(t *testing.T) {
	var d Divergence
	// p = (1/2, 1/2), q = (3/4, 1/4): KL = log(2/√3)
	d.Add([]float32{0, 0}, []float32{float32(math.Log(3)), 0}, 1)
	d.Add([]float32{1, 2}, []float32{1, 2}, 0)
	want := math.Log(2 / math.Sqrt(3))
	if got := d.Quantile(1); math.Abs(got-want) > 1e-7 {
		t.Errorf("KL %v, want %v", got, want)
	}
	if d.SameTop() != 1 || math.Abs(d.ChangeRMS()-0.25/math.Sqrt2) > 1e-7 || d.Quantile(0) != 0 {
		t.Errorf("same %v, change %v, least %v", d.SameTop(), d.ChangeRMS(), d.Quantile(0))
	}
	d.Add([]float32{1, 2}, []float32{2, 1}, 0)
	if got := d.SameTop(); math.Abs(got-2./3) > 1e-12 {
		t.Errorf("same %v", got)
	}
}

func TestReadQuestions(t *testing.T) {
	got, err := ReadQuestions(strings.NewReader(`{"question": "q", "choices": ["a", "b"], "answer": 1}

{"context": "c", "choices": {"text": ["x", "y", "z"], "label": ["1", "2", "3"]}, "answerKey": "3"}
{"ctx": "h", "endings": ["x", "y"], "label": "B", "id": 7}
{"query": "t", "choices": ["yes", "no"], "gold": "no"}
{"query": "t", "choices": ["yes", "no"], "gold": "0"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Question{{"q", []string{"a", "b"}, 1}, {"c", []string{"x", "y", "z"}, 2}, {"h", []string{"x", "y"}, 1}, {"t", []string{"yes", "no"}, 1}, {"t", []string{"yes", "no"}, 0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for text, want := range map[string]string{
		"":                               "line 1: want a question",
		"\n{":                            "line 2: want a JSON object",
		`{"choices":["a","b"]}`:          `a text "context"`,
		`{"question":"q","choices":"a"}`: `a list of texts "choices"`,
		`{"question":"q","choices":["a"],"answer":0}`:                "2 to 256 texts",
		`{"question":"q","choices":["a",""],"answer":0}`:             "none empty",
		`{"question":"q","choices":["a","b"],"answer":2}`:            `want an "answer"`,
		`{"question":"q","choices":["a","b"],"answer":"C"}`:          `want an "answer"`,
		`{"question":"q","choices":["a","b"]}`:                       "got none",
		`{"question":"` + strings.Repeat("x", maxLine) + `"}` + "\n": "at most",
	} {
		_, err := ReadQuestions(strings.NewReader(text))
		if e := (*lineError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzReadQuestions(f *testing.F) {
	f.Add(`{"question": "q", "choices": ["a", "b"], "answer": "B"}`)
	f.Add(`{"context": "c", "choices": {"text": ["x", "y"], "label": ["1"]}, "answerKey": "1"}`)
	f.Fuzz(func(t *testing.T, s string) {
		qs, err := ReadQuestions(strings.NewReader(s))
		if err == nil && len(qs) == 0 {
			t.Error("no question and no error")
		}
		for _, q := range qs {
			if len(q.Choices) < 2 || q.Answer < 0 || q.Answer >= len(q.Choices) {
				t.Errorf("%+v", q)
			}
		}
	})
}
