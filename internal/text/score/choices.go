package score

import (
	"atenia/internal/spelling"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Question has several ways to continue a text, one of which is right.
type Question struct {
	Context string
	Choices []string
	Answer  int // index into Choices
}

// A lineError says which line of a file is no question.
type lineError struct {
	Line      int // from 1
	Want, Got string
}

func (e *lineError) Error() string {
	return fmt.Sprintf("line %d: want %s, got %s", e.Line, e.Want, e.Got)
}

const (
	maxLine    = 1 << 20
	maxChoices = 256
)

// ReadQuestions reads lines of JSON, one question in each; empty lines are
// skipped. Two spellings are read:
//
//	{"question": "Ice is", "choices": ["cold", "hot"], "answer": 0}
//	{"context": "Ice is", "choices": {"text": ["cold", "hot"], "label": ["A", "B"]}, "answer": "A"}
//
// The answer is an index from 0, a label, a letter from A on, or the text of a
// choice; "answerKey", "label" and "gold" are other names of it, "endings" of
// choices, "query" and "ctx" of the context. Errors are [*lineError] or those of
// r.
func ReadQuestions(r io.Reader) ([]Question, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	var out []Question
	n := 0
	for s.Scan() {
		n++
		if len(strings.TrimSpace(s.Text())) == 0 {
			continue
		}
		line, err := spelling.UTF8At(s.Bytes(), n, n == 1)
		if e, ok := errors.AsType[*spelling.EncodingError](err); ok {
			return nil, &lineError{n, "UTF-8", "a byte of likely " + e.Likely + ": convert the file, for example by iconv -f " + e.Likely + " -t UTF-8"}
		}
		q, want, got := parseQuestion(line)
		if want != "" {
			return nil, &lineError{n, want, got}
		}
		out = append(out, q)
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil, &lineError{n + 1, fmt.Sprintf("at most %d bytes", maxLine), "more"}
	}
	if s.Err() == nil && len(out) == 0 {
		return nil, &lineError{n + 1, "a question", "the end of the file"}
	}
	return out, s.Err()
}

// parseQuestion reads one line, or says what is wrong with it.
func parseQuestion(line []byte) (q Question, want, got string) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return q, "a JSON object", err.Error()
	}
	first := func(names ...string) json.RawMessage {
		for _, name := range names {
			if v, ok := m[name]; ok {
				return v
			}
		}
		return nil
	}
	v := first("context", "question", "query", "ctx")
	if v == nil || json.Unmarshal(v, &q.Context) != nil {
		return q, `a text "context" or "question"`, clip(v)
	}
	var labels []string
	v = first("choices", "endings")
	if json.Unmarshal(v, &q.Choices) != nil {
		var o struct{ Text, Label []string }
		if json.Unmarshal(v, &o) != nil {
			return q, `a list of texts "choices"`, clip(v)
		}
		q.Choices, labels = o.Text, o.Label
	}
	if n := len(q.Choices); n < 2 || n > maxChoices || slices.Contains(q.Choices, "") {
		return q, fmt.Sprintf(`2 to %d texts in "choices", none empty`, maxChoices), clip(v)
	}
	v = first("answer", "answerKey", "gold", "label")
	if q.Answer = answer(v, q.Choices, labels); q.Answer < 0 {
		return q, `an "answer": the index, the label or the text of a choice`, clip(v)
	}
	return q, "", ""
}

// answer returns the index of the right choice, or -1.
func answer(v json.RawMessage, choices, labels []string) int {
	var n int
	if v != nil && string(v) != "null" && json.Unmarshal(v, &n) == nil {
		if n < 0 || n >= len(choices) {
			return -1
		}
		return n
	}
	var s string
	if v == nil || json.Unmarshal(v, &s) != nil {
		return -1
	}
	if i := slices.Index(labels, s); i >= 0 && i < len(choices) {
		return i
	}
	if i := slices.Index(choices, s); i >= 0 {
		return i
	}
	if len(s) == 1 {
		for _, base := range "Aa0" {
			if i := int(s[0]) - int(base); i >= 0 && i < min(26, len(choices)) && (base != '0' || i < 10) {
				return i
			}
		}
	}
	return -1
}

func clip(v json.RawMessage) string {
	if v == nil {
		return "none"
	}
	return string(v[:min(len(v), 80)])
}

// Choices counts right answers.
type Choices struct {
	Right, RightByLength Sum
}

// Add adds a question by the log-probabilities of its choices. The raw answer is
// the most probable one, the normalized one that of the largest log-probability
// for each character.
func (c *Choices) Add(q *Question, logs []float64) {
	raw, norm := 0, 0
	by := func(i int) float64 { return logs[i] / float64(utf8.RuneCountInString(q.Choices[i])) }
	for i := range logs {
		if logs[i] > logs[raw] {
			raw = i
		}
		if by(i) > by(norm) {
			norm = i
		}
	}
	c.Right.Add(truth(raw == q.Answer))
	c.RightByLength.Add(truth(norm == q.Answer))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
