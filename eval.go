package atenia

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"atenia/internal/model/convert"
	"atenia/internal/sample"
	"atenia/internal/spelling"
)

// EvalOptions choose how [Model.Evaluate] scores a text. The zero value works.
type EvalOptions struct {
	// Window is the number of tokens that are computed together. 0 = 512, or the
	// context, if that is shorter.
	Window int
	// Against is a model with the same vocabulary that is taken to be right, for
	// example the original of a quantized one. nil = none.
	Against *Model
	// Progress, if set, is called after every window.
	Progress func(done, total int)
}

// An Evaluation says how well a model predicts a text.
type Evaluation struct {
	Windows    int
	Tokens     int     // that were predicted
	NLL        float64 // mean negative log-probability of a token, in nats
	Perplexity float64 // e^NLL
	StdErr     float64 // standard error of the perplexity
	// Divergence compares with the other model; nil without one.
	Divergence *Divergence
}

// A Divergence says how far a model's predictions are from those of another one,
// the reference: KL(reference ‖ model), in nats for each token.
type Divergence struct {
	Perplexity  float64 // of the reference
	Mean        float64
	StdErr      float64 // of the mean
	Median      float64
	P90, P99    float64 // 90 and 99 % of the tokens have less
	Max         float64
	SameTop     float64 // share of tokens for which both find the same token most probable
	ProbChanged float64 // root mean square of the change of the actual token's probability
}

// defaultWindow is that of llama.cpp's perplexity, so that figures compare.
const defaultWindow = 512

// Evaluate scores tokens of a text: its perplexity and, with Against, the
// divergence from another model. Use it to see what quantizing or training
// changed; figures of models with different vocabularies do not compare.
//
// The text is cut into windows, each of which begins with the token that begins
// documents, if the model has one, and only the second half of each is scored, so
// that every scored token has a context: the tokens that llama.cpp's perplexity
// scores. The rest after the last window is not used. A text shorter than two
// windows is one window that is scored from the second token on.
func (m *Model) Evaluate(ctx context.Context, tokens []int32, o EvalOptions) (*Evaluation, error) {
	window := o.Window
	if window == 0 {
		window = min(defaultWindow, m.Context())
	}
	most := m.Context()
	if o.Against != nil {
		most = min(most, o.Against.Context())
		if m.Vocab() != o.Against.Vocab() {
			return nil, &ConfigError{"Against", o.Against.Path(), fmt.Sprintf("a model with a vocabulary of %d tokens, not %d", m.Vocab(), o.Against.Vocab())}
		}
	}
	if window < 4 || window > most {
		return nil, &ConfigError{"Window", o.Window, fmt.Sprintf("4 to %d tokens", most)}
	}
	first := window / 2 // row
	if len(tokens) < 2*window {
		window, first = min(window, len(tokens)), 0
	}
	if window < 2 {
		return nil, &ConfigError{"tokens", len(tokens), "at least two"}
	}
	start := m.beginning(tokens)
	var logs sample.Sum
	var d sample.Divergence
	total := len(tokens) / window
	for w := range total {
		ids := slices.Clone(tokens[w*window : (w+1)*window])
		copy(ids, start)
		err := m.eachPair(ctx, o.Against, ids, first, func(row int, own, other []float32) {
			next := ids[row+1]
			logs.Add(-sample.TokenLogProb(own, next))
			if other != nil {
				d.Add(other, own, next)
			}
		})
		if err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(w+1, total)
		}
	}
	e := &Evaluation{Windows: total, Tokens: logs.N, NLL: logs.Mean(), Perplexity: math.Exp(logs.Mean())}
	e.StdErr = e.Perplexity * logs.Error()
	if o.Against != nil {
		e.Divergence = &Divergence{
			Perplexity: math.Exp(-d.Log.Mean()), Mean: d.KL.Mean(), StdErr: d.KL.Error(),
			Median: d.Quantile(0.5), P90: d.Quantile(0.9), P99: d.Quantile(0.99), Max: d.Quantile(1),
			SameTop: d.SameTop(), ProbChanged: d.ChangeRMS(),
		}
	}
	return e, nil
}

// beginning returns the token that begins documents, if the tokens have it.
func (m *Model) beginning(tokens []int32) []int32 {
	if m.text.Tokenizer == nil {
		return nil
	}
	if start := m.start(); len(tokens) > 0 && len(start) > 0 && tokens[0] == start[0] {
		return start
	}
	return nil
}

// eachPair calls f with the rows of m and, if there is one, of another model, from
// row first to the last but one. Both compute at the same time, and no more than a
// row of each is kept.
func (m *Model) eachPair(ctx context.Context, other *Model, ids []int32, first int, f func(row int, own, other []float32)) error {
	wanted := func(row int) bool { return row >= first && row+1 < len(ids) }
	if other == nil {
		return m.EachLogits(ctx, ids, LogitsOptions{All: true}, func(row int, logits []float32) {
			if wanted(row) {
				f(row, logits, nil)
			}
		})
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	rows, used, ended := make(chan []float32), make(chan bool), make(chan error, 1)
	go func() {
		err := other.EachLogits(ctx, ids, LogitsOptions{All: true}, func(row int, logits []float32) {
			if !wanted(row) {
				return
			}
			select {
			case rows <- logits:
				<-used
			case <-ctx.Done():
			}
		})
		if err != nil {
			stop(err)
		}
		ended <- err
	}()
	err := m.EachLogits(ctx, ids, LogitsOptions{All: true}, func(row int, logits []float32) {
		if !wanted(row) {
			return
		}
		select {
		case r := <-rows:
			f(row, logits, r)
			used <- true
		case <-ctx.Done():
		}
	})
	if err != nil {
		stop(err)
	}
	if e := <-ended; err == nil || e != nil && context.Cause(ctx) == e {
		err = e
	}
	return err
}

// A Question has several ways to continue a text, one of which is right.
type Question struct {
	Context string
	Choices []string
	Answer  int // index of the right choice
}

// A questionError says which line of a file is no question.
type questionError struct {
	Line      int // from 1
	Want, Got string
}

func (e *questionError) Error() string {
	return fmt.Sprintf("line %d: want %s, got %s", e.Line, e.Want, e.Got)
}

const (
	maxQuestion = 1 << 20
	maxChoices  = 256
)

// ReadQuestions reads questions from lines of JSON:
//
//	{"question": "Ice is", "choices": ["cold", "hot"], "answer": 0}
//	{"context": "Ice is", "choices": {"text": ["cold", "hot"], "label": ["A", "B"]}, "answer": "A"}
//
// The answer is an index from 0, a label, a letter from A on, or the text of a
// choice; "answerKey", "label" and "gold" are other names of it, "endings" of
// choices, "query" and "ctx" of the context. Empty lines are skipped. Errors name
// the line, or are those of r.
func ReadQuestions(r io.Reader) ([]Question, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxQuestion)
	var out []Question
	n := 0
	for s.Scan() {
		n++
		if len(strings.TrimSpace(s.Text())) == 0 {
			continue
		}
		line, err := spelling.UTF8At(s.Bytes(), n, n == 1)
		if e, ok := errors.AsType[*spelling.EncodingError](err); ok {
			return nil, &questionError{n, "UTF-8", "a byte of likely " + e.Likely + ": convert the file, for example by iconv -f " + e.Likely + " -t UTF-8"}
		}
		q, want, got := parseQuestion(line)
		if want != "" {
			return nil, &questionError{n, want, got}
		}
		out = append(out, q)
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil, &questionError{n + 1, fmt.Sprintf("at most %d bytes", maxQuestion), "more"}
	}
	if s.Err() == nil && len(out) == 0 {
		return nil, &questionError{n + 1, "a question", "the end of the file"}
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
		return q, `a text "context" or "question"`, clipped(v)
	}
	var labels []string
	v = first("choices", "endings")
	if json.Unmarshal(v, &q.Choices) != nil {
		var o struct{ Text, Label []string }
		if json.Unmarshal(v, &o) != nil {
			return q, `a list of texts "choices"`, clipped(v)
		}
		q.Choices, labels = o.Text, o.Label
	}
	if n := len(q.Choices); n < 2 || n > maxChoices || slices.Contains(q.Choices, "") {
		return q, fmt.Sprintf(`2 to %d texts in "choices", none empty`, maxChoices), clipped(v)
	}
	v = first("answer", "answerKey", "gold", "label")
	if q.Answer = answerOf(v, q.Choices, labels); q.Answer < 0 {
		return q, `an "answer": the index, the label or the text of a choice`, clipped(v)
	}
	return q, "", ""
}

// answerOf returns the index of the right choice, or -1.
func answerOf(v json.RawMessage, choices, labels []string) int {
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

func clipped(v json.RawMessage) string {
	if v == nil {
		return "none"
	}
	return string(v[:min(len(v), 80)])
}

// An Accuracy is the share of questions that were answered right.
type Accuracy struct {
	Questions int
	// Raw counts the choice that is most probable as a continuation of the context,
	// Normalized that of the largest log-probability for each character, which does
	// not favour short choices.
	Raw, Normalized             float64
	RawStdErr, NormalizedStdErr float64
}

// Answer scores multiple-choice questions: each choice, after its context and a
// space, by the probability that the model gives its tokens. A context that ends
// with white space is followed by the choice itself. Progress may be nil.
func (m *Model) Answer(ctx context.Context, qs []Question, progress func(done, total int)) (*Accuracy, error) {
	var sums sample.Choices
	for i := range qs {
		q := qs[i]
		if len(q.Choices) < 2 || q.Answer < 0 || q.Answer >= len(q.Choices) {
			return nil, &ConfigError{fmt.Sprintf("question %d", i), q.Context, "two choices or more, and the index of one"}
		}
		logs := make([]float64, len(q.Choices))
		for k, choice := range q.Choices {
			var err error
			if logs[k], err = m.continuation(ctx, q.Context, choice); err != nil {
				return nil, fmt.Errorf("question %d: %w", i, err)
			}
		}
		sums.Add(q.Choices, q.Answer, logs)
		if progress != nil {
			progress(i+1, len(qs))
		}
	}
	return &Accuracy{
		Questions: sums.Right.N, Raw: sums.Right.Mean(), RawStdErr: sums.Right.Error(),
		Normalized: sums.RightByLength.Mean(), NormalizedStdErr: sums.RightByLength.Error(),
	}, nil
}

// continuation returns the log-probability of a choice after a context. Of a long
// context the end is used.
func (m *Model) continuation(ctx context.Context, before, choice string) (float64, error) {
	if body := strings.TrimRight(before, " \t\n\r"); body == before {
		choice = " " + choice
	} else {
		before, choice = body, before[len(body):]+choice // tokens begin with white space
	}
	ids, err := m.Tokenize(before + choice)
	if err != nil {
		return 0, err
	}
	head, err := m.Tokenize(before)
	if err != nil {
		return 0, err
	}
	from := 0 // the first token that the choice changes
	for from < min(len(head), len(ids)-1) && head[from] == ids[from] {
		from++
	}
	if from == 0 {
		ids, from = slices.Concat(m.start(), ids), len(m.start())
	}
	if from == 0 || len(ids)-from >= m.Context() {
		return 0, &ConfigError{"Choices", choice, fmt.Sprintf("a choice of less than %d tokens after a context", m.Context())}
	}
	if over := len(ids) - m.Context(); over > 0 {
		ids, from = ids[over:], from-over
	}
	sum := 0.0
	err = m.EachLogits(ctx, ids, LogitsOptions{All: true}, func(row int, logits []float32) {
		if row+1 >= from && row+1 < len(ids) {
			sum += sample.TokenLogProb(logits, ids[row+1])
		}
	})
	return sum, err
}

// ImportanceOptions choose how [MeasureImportance] reads a text.
type ImportanceOptions struct {
	Window  int    // tokens that are computed together; 0 = 512, or the context, if that is shorter
	Dataset string // name of the text, kept in the file
	// Progress, if set, is called after every window.
	Progress func(done, total int)
}

// An ImportanceReport says what [MeasureImportance] wrote.
type ImportanceReport struct {
	Windows int
	Tokens  int
	Tensors int
}

// MeasureImportance runs a model on a text and writes an importance matrix to out:
// how large the activations are that each column of each weight matrix is
// multiplied with. With it [Quantize] keeps the columns that matter more exact;
// see [QuantizeOptions].Importance. A few hundred windows of varied text are usual.
//
// The file has llama.cpp's format, GGUF with X.in_sum2 and X.counts for each tensor
// X of the quantized file. The embedding table and the head are left out, as
// there. The model is that of [Open] with the Config, computed with activations
// in float32. The rest of the text after the last window is not used.
func MeasureImportance(ctx context.Context, path, out, text string, c *Config, o ImportanceOptions) (r *ImportanceReport, err error) {
	var cfg Config
	if c != nil {
		cfg = *c
	}
	sums := &convert.Matrix{}
	var names map[string]string // tensors of a GGUF file, by weight
	var fault error
	cfg.Precise, cfg.Pack = true, "off"
	cfg.inputs = func(weight string, expert int, rows []float32, cols int) {
		switch name := names[weight]; name {
		case "", "output.weight", "token_embd.weight":
		default:
			fault = errors.Join(fault, sums.Add(name, expert, rows, cols))
		}
	}
	m, err := Open(ctx, path, &cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	names = m.plan.compiled.Model.GGUFNames()
	tokens, err := m.Tokenize(text)
	if err != nil {
		return nil, err
	}
	window := o.Window
	if window == 0 {
		window = min(defaultWindow, m.Context())
	}
	if window < 2 || window > m.Context() {
		return nil, &ConfigError{"Window", o.Window, fmt.Sprintf("2 to %d tokens", m.Context())}
	}
	window = min(window, len(tokens))
	if window < 2 {
		return nil, &ConfigError{"text", strings.TrimSpace(text), "at least two tokens"}
	}
	start := m.beginning(tokens)
	total := len(tokens) / window
	for w := range total {
		ids := slices.Clone(tokens[w*window : (w+1)*window])
		copy(ids, start)
		if err := m.EachLogits(ctx, ids, LogitsOptions{}, func(int, []float32) {}); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(w+1, total)
		}
	}
	if fault != nil {
		return nil, fault
	}
	sums.Chunks, sums.ChunkSize = total, window
	if o.Dataset != "" {
		sums.Datasets = []string{o.Dataset}
	}
	return &ImportanceReport{total, total * window, len(sums.Tensors())}, sums.Write(out)
}
