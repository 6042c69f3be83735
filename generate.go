package atenia

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"atenia/internal/sample"
	"atenia/internal/sched"
)

// A Prompt is text or token ids to continue. Use it for completion; for a model
// that was trained to converse, use a [Conversation], which adds the special
// tokens that the model expects around each turn.
type Prompt struct {
	Text   string
	Tokens []int32 // used as they are instead of Text, if not nil
	// Images are shown to the model. Text has the model's mark for each of them
	// ([Model.ImageMark]), in order; without any, they precede it.
	Images [][]byte
	Options
}

// Options bound and shape an answer. The zero value generates greedily until
// the model ends by itself or the context is full.
type Options struct {
	MaxTokens int // 0 = up to the context
	Sampling  Sampling
	Stop      []string // texts that end the answer; they are not part of it
	IgnoreEnd bool     // go on past the tokens with which the model ends
	// Schema is a JSON Schema that the answer, a JSON text, is to satisfy. With it the
	// answer is valid whenever it ends with "stop", whatever the sampling; near
	// MaxTokens only what can still be completed is allowed. A schema that cannot be
	// enforced in full is a [*GrammarError].
	Schema json.RawMessage
	// Grammar is a grammar in llama.cpp's notation, GBNF, that the answer is to
	// follow. Of Schema and Grammar at most one may be set.
	Grammar string
}

// A Token is a piece of an answer. Text is what may be shown now: bytes of an
// unfinished character and what may become a stop string are held back and
// come with a later token.
//
// The last one of an answer has Finish set. It stands for no token; its Text
// is what was held back.
type Token struct {
	ID      int32
	Text    string
	LogProb float32   // natural logarithm, under the unmodified distribution; 0 unless Sampling.LogProbs is set
	Top     []LogProb // the Sampling.LogProbs most likely tokens
	Finish  string    // "stop", or "length" when MaxTokens or the context was reached
}

// Generate continues a prompt and yields tokens as they are computed. The sequence
// is single-use: the request starts when it is ranged over, and ends with a token
// whose Finish is set or with an error, which is the last pair.
//
// Breaking out of the loop or canceling ctx ends the request. A slow
// loop does not hold up other requests. More requests than
// [Config.Slots] wait for their turn. A prompt that is longer than the context
// is a [*ContextError]; bad sampling is a [*SamplingError].
//
// Print Text as it comes: it may be empty, because an incomplete character, or
// what may become a stop string, is held back until the next token.
func (m *Model) Generate(ctx context.Context, p Prompt) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if len(p.Images) > 0 {
			m.generateSeeing(ctx, &p, yield)
			return
		}
		ids := p.Tokens
		if ids == nil {
			var err error
			if ids, err = m.tokenize(ctx, p.Text, true); err != nil {
				yield(Token{}, err)
				return
			}
			if len(ids) == 0 { // an empty prompt starts a document
				ids = m.start()
			}
		}
		m.generate(ctx, ids, nil, &p.Options, yield)
	}
}

// start returns the token that begins a document, for an empty prompt.
func (m *Model) start() []int32 {
	if id, ok := m.text.Tokenizer.ID(m.text.BOS); ok && m.text.BOS != "" {
		return []int32{id}
	}
	return m.text.Stop[:min(1, len(m.text.Stop))]
}

func (m *Model) generate(ctx context.Context, ids []int32, images []sched.Image, o *Options, yield func(Token, error) bool) {
	room := m.Context() - len(ids)
	r := sched.Request{Prompt: ids, Images: images, MaxTokens: room, Sampling: o.Sampling.internal()}
	if o.MaxTokens > 0 {
		r.MaxTokens = min(o.MaxTokens, room)
	}
	if m.text.Tokenizer != nil && !o.IgnoreEnd {
		r.Stop = m.text.Stop
	}
	var err error
	if r.Constrain, err = m.constrain(o); err != nil {
		yield(Token{}, publish(err))
		return
	}
	st, err := m.engine.Sched.Submit(ctx, r)
	if err != nil {
		yield(Token{}, publish(err))
		return
	}
	defer st.Close()
	w := m.writer(o)
	for {
		t, ok := st.Next()
		if !ok {
			break
		}
		if ctx.Err() != nil { // tokens that came before it may still wait
			yield(Token{}, context.Cause(ctx))
			return
		}
		if slices.Contains(r.Stop, t.ID) {
			continue // the scheduler ends after it
		}
		text, stopped := w.add(t.ID)
		if !yield(Token{ID: t.ID, Text: text, LogProb: t.LogProb, Top: newLogProbs(t.Top)}, nil) {
			return
		}
		if stopped {
			yield(Token{Finish: string(sched.FinishStop)}, nil)
			return
		}
	}
	if err := st.Err(); err != nil {
		yield(Token{}, publish(err))
		return
	}
	text, stopped := w.flush()
	finish := st.Finish()
	if stopped {
		finish = sched.FinishStop
	}
	yield(Token{Text: text, Finish: string(finish)}, nil)
}

// A writer turns token ids into text that may be shown.
type writer struct {
	stream interface {
		Next(id int32) string
		Flush() string
	}
	stops *sample.Stops
}

func (m *Model) writer(o *Options) *writer {
	w := &writer{}
	if m.text.Tokenizer != nil {
		w.stream = m.text.Tokenizer.NewStream(true)
	}
	if len(o.Stop) > 0 {
		w.stops = sample.NewStops(o.Stop)
	}
	return w
}

// add returns the text that a token completes, and whether a stop string
// ended the answer.
func (w *writer) add(id int32) (text string, stopped bool) {
	if w.stream == nil {
		return "", false
	}
	text = w.stream.Next(id)
	if w.stops != nil {
		return w.stops.Feed(text)
	}
	return text, false
}

// flush returns what was held back at the end of an answer.
func (w *writer) flush() (text string, stopped bool) {
	if w.stream == nil {
		return "", false
	}
	text = w.stream.Flush()
	if w.stops == nil {
		return text, false
	}
	if text, stopped = w.stops.Feed(text); !stopped {
		text += w.stops.Flush()
	}
	return text, stopped
}

// LogitsOptions choose the rows that [Model.Logits] returns. The zero value gives
// the row after the last token, from which the next token would be chosen.
type LogitsOptions struct {
	All bool // a row after every token, not only after the last
	// Step computes the first Step tokens as a prompt and feeds the others one
	// by one, as if they had been generated. 0 = all at once. The rows are the
	// same either way.
	Step int
}

// Logits returns the model's logits, [rows, vocab]: the row after the last token,
// or a row after each token if All is set. Use it to score texts, to classify, or
// to choose tokens by a method that [Sampling] does not have.
//
// Rows are copied. A vocabulary of 128,000 tokens takes 512 kB a row, so for All
// of a long text prefer [Model.EachLogits], which keeps one row at a time.
func (m *Model) Logits(ctx context.Context, tokens []int32, o LogitsOptions) ([][]float32, error) {
	var rows [][]float32
	err := m.EachLogits(ctx, tokens, o, func(_ int, logits []float32) {
		rows = append(rows, slices.Clone(logits))
	})
	return rows, err
}

// EachLogits calls f with each row of logits in order; row is the index of the
// token that the logits come after. The slice is valid during the call, and
// the model waits for it. A row with a NaN is an error, and f does not see it: the
// model's weights are damaged, or its numbers overflow.
func (m *Model) EachLogits(ctx context.Context, tokens []int32, o LogitsOptions, f func(row int, logits []float32)) error {
	if o.Step < 0 || o.Step > len(tokens) {
		return &ConfigError{"Step", o.Step, fmt.Sprintf("0 to %d, the number of tokens", len(tokens))}
	}
	r := sched.Request{Prompt: tokens, All: o.All}
	if o.Step > 0 {
		r.Prompt, r.Forced = tokens[:o.Step], tokens[o.Step:]
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var bad error
	r.OnLogits = func(row int, logits []float32) {
		if bad != nil || !o.All && row != len(tokens)-1 {
			return
		}
		if i := slices.IndexFunc(logits, func(l float32) bool { return l != l }); i >= 0 {
			bad = fmt.Errorf("after token %d: %w", row, &sample.LogitsError{Index: i, Value: logits[i]})
			stop(bad)
			return
		}
		f(row, logits)
	}
	st, err := m.engine.Sched.Submit(ctx, r)
	if err != nil {
		return publish(err)
	}
	st.Next()
	if bad != nil {
		return bad
	}
	return publish(st.Err())
}
