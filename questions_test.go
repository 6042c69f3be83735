package atenia

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

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
	want := []Question{{Context: "q", Choices: []string{"a", "b"}, Answer: 1}, {Context: "c", Choices: []string{"x", "y", "z"}, Answer: 2}, {Context: "h", Choices: []string{"x", "y"}, Answer: 1}, {Context: "t", Choices: []string{"yes", "no"}, Answer: 1}, {Context: "t", Choices: []string{"yes", "no"}, Answer: 0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for text, want := range map[string]string{
		"":                               "line 1: want a question",
		"\n{":                            "line 2: want a JSON object",
		`{"choices":["a","b"]}`:          `a text "context"`,
		`{"question":"q","choices":"a"}`: `a list of texts "choices"`,
		`{"question":"q","choices":["a"],"answer":0}`:                    "2 to 256 texts",
		`{"question":"q","choices":["a",""],"answer":0}`:                 "none empty",
		`{"question":"q","choices":["a","b"],"answer":2}`:                `want an "answer"`,
		`{"question":"q","choices":["a","b"],"answer":"C"}`:              `want an "answer"`,
		`{"question":"q","choices":["a","b"]}`:                           "got none",
		`{"question":"` + strings.Repeat("x", maxQuestion) + `"}` + "\n": "at most",
	} {
		_, err := ReadQuestions(strings.NewReader(text))
		if e := (*questionError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
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
