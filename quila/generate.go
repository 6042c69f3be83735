package quila

import (
	"context"
	"fmt"
	"iter"
	"unicode/utf8"

	"atenia/internal/sample"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/call"
)

// A Generation bounds and shapes an answer. The zero value is greedy and ends
// after 256 codes or where the network ends by itself.
type Generation struct {
	MaxTokens   int      // codes; 0 = 256
	Temperature float32  // 0 = the most likely code; also scales the neurons' noise
	TopK        int      // 0 = all
	TopP        float32  // 0 = all
	MinP        float32  // 0 = all
	Seed        uint64   // of the choices and the noise
	Stop        []string // texts that end the answer; they are not part of it
	// Plain leaves out phase 2, the look of the network at itself between the
	// prompt and the answer.
	Plain bool
}

// A Token is a piece of an answer. Bytes of an unfinished character, and what may
// become a stop text, come with a later one.
type Token struct {
	Code       int32
	Text       string
	LogProb    float32 // natural logarithm
	Confidence float32 // of the Thinkers, merged
	Finish     string  // of the last one: "stop", or "length" at MaxTokens
}

// Generate continues a text and yields codes as they are chosen. The prompt's
// bytes are said to the network one code at a time; then it says the next code
// and hears its own. The sequence is single-use; an error is the last pair.
//
// The body of the loop may call the model: another Generate has a session of its
// own, and after Close the sequence ends with [ErrClosed].
//
// Nothing of a session is kept from one call to the next. What a model's libraries
// are is the model's: a call is a turn, what it recalls is counted, and with
// [Options.Learn] what was worth an entry is recalled by later calls.
func (m *Model) Generate(ctx context.Context, prompt string, o Generation) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if err := m.generate(ctx, prompt, &o, yield); err != nil {
			yield(Token{}, err)
		}
	}
}

// usualTokens is how many codes an answer has unless it is said.
const usualTokens = 256

func (m *Model) generate(ctx context.Context, prompt string, o *Generation, yield func(Token, error) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.caller == nil {
		return ErrClosed
	}
	if o.MaxTokens < 0 {
		return &sample.ParamError{Field: "MaxTokens", Got: o.MaxTokens, Want: "0 or more"}
	}
	s, err := sample.New(sample.Params{Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MinP: o.MinP, Seed: o.Seed, LogProbs: 1}, m.file.Config.V)
	if err != nil {
		return err
	}
	codes := m.tokens.Encode([]byte(prompt))
	if len(codes) == 0 {
		codes = []int32{boundary.BOS}
	}
	k := m.caller.Start(o.Seed)
	going := true
	err = m.answer(ctx, k, s, codes, o, func(t Token, err error) bool {
		// The body of the loop may do what it likes with the model: the call's session is
		// its own, and weights stay as they are.
		m.mu.Unlock()
		defer m.mu.Lock()
		going = yield(t, err)
		return going
	})
	if m.caller == nil {
		if going {
			return ErrClosed
		}
		return nil
	}
	if end := k.End(); err == nil && going {
		err = end
	}
	return err
}

// answer is a call: the prompt, the look at itself, the answer.
func (m *Model) answer(ctx context.Context, k *call.Call, s *sample.Sampler, codes []int32, o *Generation, yield func(Token, error) bool) error {
	for _, code := range codes {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		s.Accept(code)
		if err := k.Say(code, 0); err != nil {
			return err
		}
	}
	if !o.Plain {
		if _, err := k.Reflect(); err != nil {
			return err
		}
	}
	w := writer{stops: sample.NewStops(o.Stop)}
	limit := o.MaxTokens
	if limit <= 0 {
		limit = usualTokens
	}
	return m.loop(ctx, k, s, &w, limit, o, yield)
}

// loop is phase 5: choose, say, hear.
func (m *Model) loop(ctx context.Context, k *call.Call, s *sample.Sampler, w *writer, limit int, o *Generation, yield func(Token, error) bool) error {
	for range limit {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		logits := k.Logits()
		chosen, err := s.Sample(logits)
		if err != nil {
			return fmt.Errorf("quila: the network's logits: %w", err)
		}
		if chosen.ID == boundary.EOS {
			yield(Token{Finish: "stop", Text: w.flush()}, nil)
			return nil
		}
		spelled, err := m.tokens.Decode([]int32{chosen.ID})
		if err != nil {
			return err
		}
		text, stopped := w.add(spelled)
		if !yield(Token{Code: chosen.ID, Text: text, LogProb: chosen.LogProb, Confidence: k.Confidence()}, nil) || m.caller == nil {
			return nil
		}
		if stopped {
			yield(Token{Finish: "stop"}, nil)
			return nil
		}
		s.Accept(chosen.ID)
		if err := k.Say(chosen.ID, float64(o.Temperature)); err != nil {
			return err
		}
	}
	yield(Token{Finish: "length", Text: w.flush()}, nil)
	return nil
}

// A writer turns bytes into text that may be shown: whole characters, and
// nothing of a text that may still become a stop text.
type writer struct {
	stops *sample.Stops
	held  []byte // an incomplete character
}

// add takes bytes and returns the text that may be shown now.
func (w *writer) add(b []byte) (text string, stopped bool) {
	w.held = append(w.held, b...)
	var out []rune
	for len(w.held) > 0 && utf8.FullRune(w.held) {
		r, n := utf8.DecodeRune(w.held)
		out, w.held = append(out, r), w.held[n:]
	}
	return w.stops.Feed(string(out))
}

// flush returns what is left.
func (w *writer) flush() string {
	text := ""
	if len(w.held) > 0 {
		text, _ = w.stops.Feed(string(utf8.RuneError))
	}
	return text + w.stops.Flush()
}
