package dialect

// Tokens become the pieces of an answer, and the answer.

import (
	"encoding/json"
	"strings"

	"atenia"
)

// An openaiAnswer gathers what one choice says.
type openaiAnswer struct {
	top     int // of log-probabilities
	speller *speller

	text, reasoning strings.Builder
	said            atenia.Answer // its calls, and how it ended
	custom          map[string]bool
	input           *inputReader // of a call of a custom tool
	receipt         json.RawMessage
	probs           *chatProbs
}

// An openaiDelta is what a token adds.
type openaiDelta struct {
	text, reasoning string
	call            *openaiCall
	probs           *chatProbs
	finish          string
	receipt         json.RawMessage
}

// said reports whether there is anything but an end.
func (d *openaiDelta) said() bool {
	return d.text != "" || d.reasoning != "" || d.call != nil || d.probs != nil
}

// add takes the next token.
func (a *openaiAnswer) add(t atenia.Token) openaiDelta {
	d := openaiDelta{text: t.Text, reasoning: t.Reasoning, finish: t.Finish, receipt: t.Receipt}
	if t.Receipt != nil {
		a.receipt = t.Receipt
	}
	a.text.WriteString(t.Text)
	a.reasoning.WriteString(t.Reasoning)
	a.said.Add(atenia.Token{Call: t.Call, Finish: t.Finish, Usage: t.Usage})
	// A call that turns out to be none is not taken back from a stream: clients find it
	// incomplete, and the reason for the end is none of calls.
	if c := t.Call; c != nil && !c.Broken {
		d.call = a.call(c)
	}
	if t.Top != nil {
		if a.probs == nil {
			a.probs = &chatProbs{}
		}
		p := a.speller.prob(t, a.top)
		a.probs.Content = append(a.probs.Content, p)
		d.probs = &chatProbs{Content: []prob{p}}
	}
	if d.finish == "stop" && len(a.said.ToolCalls) > 0 {
		d.finish, a.said.Finish = "tool_calls", "tool_calls"
	}
	return d
}

// choice returns the whole answer.
func (a *openaiAnswer) choice(i int) chatChoice {
	text, thought := a.text.String(), a.reasoning.String()
	m := &wholeMessage{Role: "assistant", Content: &text, thoughts: thoughts{thought, thought}}
	for _, c := range a.said.ToolCalls {
		call := newOpenAICall(c.ID, c.Name, string(c.Arguments))
		if a.custom[c.Name] {
			call = newCustomCall(c.ID, c.Name, customInput(string(c.Arguments)))
		}
		m.ToolCalls = append(m.ToolCalls, *call)
	}
	if text == "" && m.ToolCalls != nil {
		m.Content = nil
	}
	return chatChoice{Index: i, Message: m, LogProbs: a.probs, Finish: &a.said.Finish}
}

// chatProbs are log-probabilities of tokens.
type chatProbs struct {
	Content []prob  `json:"content"`
	Refusal *string `json:"refusal"`
}

// A prob is a token with its log-probability.
type prob struct {
	topProb
	Top []topProb `json:"top_logprobs"`
}

type topProb struct {
	Token   string  `json:"token"`
	LogProb float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// A speller says what tokens are as text.
type speller struct {
	wanted bool
	m      *atenia.Model
	before []int32 // a token of ASCII: what a tokenizer drops at the beginning of a text stays
	prefix string
	bytes  func(id int32) ([]byte, bool)
}

func newSpeller(m *atenia.Model, wanted bool) (*speller, error) {
	s := &speller{wanted: wanted, m: m}
	if !wanted {
		return s, nil
	}
	t, err := m.Tokenizer()
	if err != nil {
		return nil, err
	}
	s.before = t.Encode("a", false)
	s.prefix, s.bytes = t.Decode(s.before, false), t.Bytes
	return s, nil
}

// text returns the text of one token as it is in the middle of a text.
func (s *speller) text(id int32) string {
	whole, err := s.m.Detokenize(append(s.before[:len(s.before):len(s.before)], id))
	if text, ok := strings.CutPrefix(whole, s.prefix); ok && err == nil {
		return text
	}
	text, _ := s.m.Detokenize([]int32{id})
	return text
}

func (s *speller) top(id int32, p float32) topProb {
	t := topProb{Token: s.text(id), LogProb: p, Bytes: []int{}}
	own, ok := s.bytes(id) // a part of a character has no text of its own
	if !ok {
		own = []byte(t.Token)
	}
	for _, b := range own {
		t.Bytes = append(t.Bytes, int(b))
	}
	return t
}

func (s *speller) prob(t atenia.Token, top int) prob {
	p := prob{topProb: s.top(t.ID, t.LogProb), Top: []topProb{}}
	for _, l := range t.Top[:min(top, len(t.Top))] {
		p.Top = append(p.Top, s.top(l.ID, l.LogProb))
	}
	return p
}
