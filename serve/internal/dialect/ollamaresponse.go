package dialect

// From the tokens of an answer to lines.

import (
	"encoding/json"
	"strings"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// An ollamaLine is a piece of an answer, or the whole of it.
type ollamaLine struct {
	Model     string    `json:"model"`
	CreatedAt time.Time `json:"created_at"`

	Message  *ollamaMessage `json:"message,omitempty"`  // of chat
	Response *string        `json:"response,omitempty"` // of generate
	Thinking string         `json:"thinking,omitempty"`

	LogProbs []ollamaLogProb `json:"logprobs,omitempty"`

	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason,omitempty"`

	Receipt json.RawMessage `json:"receipt,omitempty"` // of the last line

	*ollamaCounts
}

// ollamaCounts are what the last line adds. Durations are in nanoseconds.
type ollamaCounts struct {
	TotalDuration      time.Duration `json:"total_duration"`
	LoadDuration       time.Duration `json:"load_duration"`
	PromptEvalCount    int           `json:"prompt_eval_count"`
	PromptEvalDuration time.Duration `json:"prompt_eval_duration"`
	EvalCount          int           `json:"eval_count"`
	EvalDuration       time.Duration `json:"eval_duration"`
}

// An ollamaLogProb is a token with its natural log-probability.
type ollamaLogProb struct {
	ollamaTokenProb
	Top []ollamaTokenProb `json:"top_logprobs,omitempty"`
}

type ollamaTokenProb struct {
	Token   string  `json:"token"`
	LogProb float32 `json:"logprob"`
	Bytes   []int   `json:"bytes,omitempty"`
}

// An ollamaAnswer makes lines of tokens as they come.
type ollamaAnswer struct {
	lease *host.Lease
	model string // as the request names it
	chat  bool   // for /api/chat, not /api/generate
	top   int    // alternatives that are wanted
	// emit sends a line; nil: the answer is wanted as a whole.
	emit func(ollamaLine) error

	begun, loaded, first time.Time // first: when the first token came

	text, thought strings.Builder
	said          atenia.Answer // its calls
	indices       []int         // of the calls, those counted that were none
	calls         []ollamaCall  // that are complete
	probs         []ollamaLogProb
	done          ollamaLine
}

// line returns a line with a piece of text, of thought, and calls.
func (a *ollamaAnswer) line(text, thought string, calls []ollamaCall) ollamaLine {
	l := ollamaLine{Model: a.model, CreatedAt: time.Now().UTC()}
	if a.chat {
		l.Message = &ollamaMessage{Role: "assistant", Content: text, Thinking: thought, ToolCalls: calls}
	} else {
		l.Response, l.Thinking = &text, thought
	}
	return l
}

// add takes a token.
func (a *ollamaAnswer) add(t *atenia.Token, probs bool) error {
	if a.first.IsZero() {
		a.first = time.Now()
	}
	var ready []ollamaCall
	if c := t.Call; c != nil {
		if c.Name != "" { // its first part
			ready = a.closeCall()
			a.indices = append(a.indices[:len(a.said.ToolCalls)], c.Index)
		}
		a.said.Add(atenia.Token{Call: c}) // of one that is none all follows as text
	}
	var lp []ollamaLogProb
	if probs && t.Finish == "" {
		lp = []ollamaLogProb{a.prob(t)}
	}
	if t.Finish != "" {
		ready = append(ready, a.closeCall()...)
	}
	if a.emit == nil {
		a.text.WriteString(t.Text)
		a.thought.WriteString(t.Reasoning)
		a.probs = append(a.probs, lp...)
	} else if t.Text != "" || t.Reasoning != "" || len(ready) > 0 || lp != nil {
		l := a.line(t.Text, t.Reasoning, ready)
		l.LogProbs = lp
		if err := a.emit(l); err != nil {
			return err
		}
	}
	if t.Finish == "" {
		return nil
	}
	return a.finish(t)
}

// closeCall returns the last call, which is complete. Ollama sends calls whole.
func (a *ollamaAnswer) closeCall() []ollamaCall {
	n := len(a.calls)
	for i, c := range a.said.ToolCalls[n:] {
		a.calls = append(a.calls, ollamaCall{c.ID, ollamaFunction{a.indices[n+i], c.Name, host.Object(string(c.Arguments))}})
	}
	return a.calls[n:]
}

// finish makes the last line, or the only one.
func (a *ollamaAnswer) finish(t *atenia.Token) error {
	now := time.Now()
	if a.emit != nil {
		a.done = a.line("", "", nil)
	} else {
		a.done = a.line(a.text.String(), a.thought.String(), a.calls)
		a.done.LogProbs = a.probs
	}
	a.done.Done, a.done.DoneReason, a.done.Receipt = true, t.Finish, t.Receipt
	a.done.ollamaCounts = &ollamaCounts{
		TotalDuration: now.Sub(a.begun), LoadDuration: a.loaded.Sub(a.begun),
		PromptEvalDuration: a.first.Sub(a.loaded), EvalDuration: now.Sub(a.first),
	}
	if t.Usage != nil {
		a.done.PromptEvalCount, a.done.EvalCount = t.Usage.Prompt, t.Usage.Answer
	}
	if a.emit == nil {
		return nil
	}
	return a.emit(a.done)
}

// prob returns a token's log-probability with the alternatives that are wanted.
func (a *ollamaAnswer) prob(t *atenia.Token) ollamaLogProb {
	p := ollamaLogProb{ollamaTokenProb: a.named(t.ID, t.LogProb)}
	for _, o := range t.Top[:min(len(t.Top), a.top)] {
		p.Top = append(p.Top, a.named(o.ID, o.LogProb))
	}
	return p
}

func (a *ollamaAnswer) named(id int32, p float32) ollamaTokenProb {
	text, _ := a.lease.Detokenize([]int32{id}) // a model that generated text has a tokenizer
	out := ollamaTokenProb{Token: text, LogProb: p}
	for i := range len(text) {
		out.Bytes = append(out.Bytes, int(text[i]))
	}
	return out
}
