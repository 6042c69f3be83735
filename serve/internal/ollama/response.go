package ollama

// From the tokens of an answer to lines.

import (
	"strings"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// A line is a piece of an answer, or the whole of it.
type line struct {
	Model     string    `json:"model"`
	CreatedAt time.Time `json:"created_at"`

	Message  *message `json:"message,omitempty"`  // of chat
	Response *string  `json:"response,omitempty"` // of generate
	Thinking string   `json:"thinking,omitempty"`

	LogProbs []logProb `json:"logprobs,omitempty"`

	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason,omitempty"`
	*counts
}

// counts are what the last line adds. Durations are in nanoseconds.
type counts struct {
	TotalDuration      time.Duration `json:"total_duration"`
	LoadDuration       time.Duration `json:"load_duration"`
	PromptEvalCount    int           `json:"prompt_eval_count"`
	PromptEvalDuration time.Duration `json:"prompt_eval_duration"`
	EvalCount          int           `json:"eval_count"`
	EvalDuration       time.Duration `json:"eval_duration"`
}

// A logProb is a token with its natural log-probability.
type logProb struct {
	tokenProb
	Top []tokenProb `json:"top_logprobs,omitempty"`
}

type tokenProb struct {
	Token   string  `json:"token"`
	LogProb float32 `json:"logprob"`
	Bytes   []int   `json:"bytes,omitempty"`
}

// An answer makes lines of tokens as they come.
type answer struct {
	lease *host.Lease
	model string // as the request names it
	chat  bool   // for /api/chat, not /api/generate
	top   int    // alternatives that are wanted
	// emit sends a line; nil: the answer is wanted as a whole.
	emit func(line) error

	begun, loaded, first time.Time // first: when the first token came

	text, thought strings.Builder
	calls         []call
	arguments     strings.Builder // of the last call
	probs         []logProb
	done          line
}

// line returns a line with a piece of text, of thought, and calls.
func (a *answer) line(text, thought string, calls []call) line {
	l := line{Model: a.model, CreatedAt: time.Now().UTC()}
	if a.chat {
		l.Message = &message{Role: "assistant", Content: text, Thinking: thought, ToolCalls: calls}
	} else {
		l.Response, l.Thinking = &text, thought
	}
	return l
}

// add takes a token.
func (a *answer) add(t *atenia.Token, probs bool) error {
	if a.first.IsZero() {
		a.first = time.Now()
	}
	var ready []call
	if c := t.Call; c != nil {
		if c.Name != "" { // its first part
			ready = a.closeCall()
			a.calls = append(a.calls, call{ID: c.ID, Function: function{Index: c.Index, Name: c.Name}})
		}
		if a.arguments.WriteString(c.Arguments); c.Broken && len(a.calls) > 0 { // all of it follows as text
			a.calls = a.calls[:len(a.calls)-1]
			a.arguments.Reset()
		}
	}
	var lp []logProb
	if probs && t.Finish == "" {
		lp = []logProb{a.prob(t)}
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

// closeCall completes the arguments of the last call and returns it. Ollama sends calls
// whole.
func (a *answer) closeCall() []call {
	n := len(a.calls)
	if n == 0 || a.calls[n-1].Function.Arguments != nil {
		return nil
	}
	f := &a.calls[n-1].Function
	f.Arguments = host.Object(a.arguments.String())
	a.arguments.Reset()
	return a.calls[n-1:]
}

// finish makes the last line, or the only one.
func (a *answer) finish(t *atenia.Token) error {
	now := time.Now()
	if a.emit != nil {
		a.done = a.line("", "", nil)
	} else {
		a.done = a.line(a.text.String(), a.thought.String(), a.calls)
		a.done.LogProbs = a.probs
	}
	a.done.Done, a.done.DoneReason = true, t.Finish
	a.done.counts = &counts{
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
func (a *answer) prob(t *atenia.Token) logProb {
	p := logProb{tokenProb: a.named(t.ID, t.LogProb)}
	for _, o := range t.Top[:min(len(t.Top), a.top)] {
		p.Top = append(p.Top, a.named(o.ID, o.LogProb))
	}
	return p
}

func (a *answer) named(id int32, p float32) tokenProb {
	text, _ := a.lease.Detokenize([]int32{id}) // a model that generated text has a tokenizer
	out := tokenProb{Token: text, LogProb: p}
	for i := range len(text) {
		out.Bytes = append(out.Bytes, int(text[i]))
	}
	return out
}
