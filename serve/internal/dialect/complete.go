package dialect

// POST /v1/completions.

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"unicode/utf8"

	"atenia"
	"atenia/serve/internal/host"
)

// A completeRequest is the body.
type completeRequest struct {
	openaiAsk
	Prompt   prompts         `json:"prompt"`
	Echo     bool            `json:"echo"`
	LogProbs int             `json:"logprobs"`
	BestOf   *int            `json:"best_of"` // the best of as many as are returned is all of them
	Suffix   string          `json:"suffix"`
	Format   *responseFormat `json:"response_format"`
}

// prompts are texts or ids, one or several.
type prompts []atenia.Prompt

// UnmarshalJSON implements [json.Unmarshaler].
func (p *prompts) UnmarshalJSON(b []byte) error {
	*p = nil
	var one string
	var several []string
	var ids []int32
	var lists [][]int32
	switch {
	case json.Unmarshal(b, &one) == nil:
		*p = prompts{{Text: one}}
	case json.Unmarshal(b, &several) == nil:
		for _, s := range several {
			*p = append(*p, atenia.Prompt{Text: s})
		}
	case json.Unmarshal(b, &ids) == nil:
		*p = prompts{{Tokens: ids}}
	case json.Unmarshal(b, &lists) == nil:
		for _, ids := range lists {
			*p = append(*p, atenia.Prompt{Tokens: ids})
		}
	default:
		return host.Invalid("prompt", "prompt is %.20q, want a string, strings, ids, or lists of ids", b)
	}
	return nil
}

// usualTokens is max_tokens of completions that do not say it, OpenAI's default.
const usualTokens = 16

// A textChoice is one continuation, whole or a piece.
type textChoice struct {
	Index    int        `json:"index"`
	Text     string     `json:"text"`
	LogProbs *textProbs `json:"logprobs"`
	Finish   *string    `json:"finish_reason"`
}

// textProbs are log-probabilities in the form of completions.
type textProbs struct {
	Tokens   []string             `json:"tokens"`
	LogProbs []float32            `json:"token_logprobs"`
	Top      []map[string]float32 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"` // in characters
}

// A place is how far tokens have come in a text that is sent: in characters, and in the bytes
// of one that has not ended. Its tokens are all where it is.
type place struct {
	at   int
	rest []byte
}

// after returns the place where a text ends.
func after(text string) place { return place{at: utf8.RuneCountInString(text)} }

// next returns where a token begins, and goes on to its end.
func (p *place) next(token []int) (at int) {
	at = p.at
	for _, b := range token {
		for p.rest = append(p.rest, byte(b)); utf8.FullRune(p.rest); p.at++ {
			_, n := utf8.DecodeRune(p.rest)
			p.rest = p.rest[n:]
		}
	}
	return at
}

func newTextProbs(c *chatProbs, p *place) *textProbs {
	if c == nil {
		return nil
	}
	out := &textProbs{Tokens: []string{}, LogProbs: []float32{}, Top: []map[string]float32{}, Offsets: []int{}}
	for _, t := range c.Content {
		top := map[string]float32{}
		for _, o := range t.Top {
			top[o.Token] = o.LogProb
		}
		out.Tokens, out.LogProbs = append(out.Tokens, t.Token), append(out.LogProbs, t.LogProb)
		out.Top, out.Offsets = append(out.Top, top), append(out.Offsets, p.next(t.Bytes))
	}
	return out
}

func complete(_ http.ResponseWriter, r *host.Request) error {
	var in completeRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	n, err := in.choices()
	switch {
	case err != nil:
		return err
	case len(in.Prompt) == 0:
		return host.Invalid("prompt", "prompt is empty or missing")
	case len(in.Prompt)*n > mostChoices:
		return host.Invalid("n", "%d prompts with n %d are more than %d answers", len(in.Prompt), n, mostChoices)
	case in.Receipt != "" && len(in.Prompt) > 1:
		return host.Unsupported("receipt", "receipt is of one answer, and there are %d prompts", len(in.Prompt))
	case in.BestOf != nil && *in.BestOf != n:
		return host.Unsupported("best_of", "best_of is %d, want that of n, %d, or none", *in.BestOf, n)
	case in.Suffix != "":
		return host.Unsupported("suffix", "suffix is not supported")
	case in.LogProbs < 0:
		return host.Invalid("logprobs", "logprobs is %d, want 0 to %d", in.LogProbs, mostLogProbs)
	}
	var events *host.Events
	if in.Stream {
		events = beginOpenAI(r)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	if in.MaxTokens == nil {
		in.MaxTokens = new(int)
		*in.MaxTokens = usualTokens
	}
	o, err := in.options(l.Model, &in, in.LogProbs)
	if err == nil {
		err = in.Format.constrain(&o, "response_format")
	}
	if err != nil {
		return err
	}
	pieces, err := newSpeller(l.Model, in.LogProbs > 0)
	if err != nil {
		return err
	}
	all := len(in.Prompt) * n
	answers, echoes := make([]*openaiAnswer, all), make([]string, all)
	for i := range answers {
		answers[i] = &openaiAnswer{top: in.LogProbs, speller: pieces}
		p := &in.Prompt[i/n]
		for _, id := range p.Tokens {
			if id < 0 || int(id) >= l.Vocab() {
				return host.Invalid("prompt", "prompt has the token %d, want ids below %d", id, l.Vocab())
			}
		}
		if echoes[i] = p.Text; in.Echo && p.Tokens != nil {
			if echoes[i], err = l.Detokenize(p.Tokens); err != nil {
				return err
			}
		}
		if !in.Echo {
			echoes[i] = ""
		}
	}
	ask := func(ctx context.Context, i int) iter.Seq2[atenia.Token, error] {
		p := in.Prompt[i/n]
		p.Options = o
		p.Sampling.Seed += uint64(i % n)
		return r.GenerateWithin(ctx, l, p)
	}
	head := completion[textChoice]{ID: "cmpl-" + r.ID, Object: "text_completion", Created: now(), Model: l.Info.Name, Fingerprint: fingerprint}
	if in.Stream {
		s := &textStream{chunks[textChoice]{events, head, in.includesUsage()}, echoes, nil}
		for _, e := range echoes {
			s.places = append(s.places, after(e))
		}
		return s.end(fan(r.Context(), all, ask, func(i int, t atenia.Token) error { return s.take(i, answers[i].add(t)) }), answers, n)
	}
	err = fan(r.Context(), all, ask, func(i int, t atenia.Token) error { answers[i].add(t); return nil })
	if err != nil {
		return err
	}
	for i, a := range answers {
		begin := after(echoes[i])
		head.Choices = append(head.Choices, textChoice{i, echoes[i] + a.text.String(), newTextProbs(a.probs, &begin), &a.said.Finish})
	}
	head.Usage, head.Receipt = openaiTotal(answers, n), answers[0].receipt
	return r.WriteJSON(http.StatusOK, head)
}

// A textStream writes chunks of completions.
type textStream struct {
	chunks[textChoice]
	echoes []string // what precedes each choice
	places []place  // of the next token in each
}

func (s *textStream) take(i int, d openaiDelta) error {
	d.text, s.echoes[i] = s.echoes[i]+d.text, ""
	if d.text == "" && d.probs == nil && d.finish == "" {
		return nil
	}
	c := textChoice{Index: i, Text: d.text, LogProbs: newTextProbs(d.probs, &s.places[i])}
	if d.finish != "" {
		c.Finish, s.head.Receipt = &d.finish, d.receipt
		defer func() { s.head.Receipt = nil }()
	}
	return s.send(c)
}
