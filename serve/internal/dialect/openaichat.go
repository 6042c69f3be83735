package dialect

// POST /v1/chat/completions.

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"atenia"
	"atenia/serve/internal/host"
)

// An openaiChatRequest is the body.
type openaiChatRequest struct {
	openaiAsk
	Messages       []openaiMessage `json:"messages"`
	MaxCompletion  *int            `json:"max_completion_tokens"`
	LogProbs       bool            `json:"logprobs"`
	TopLogProbs    int             `json:"top_logprobs"`
	Tools          []openaiTool    `json:"tools"`
	ToolChoice     toolChoice      `json:"tool_choice"`
	ResponseFormat *responseFormat `json:"response_format"`
	Effort         string          `json:"reasoning_effort"`
	Documents      []document      `json:"documents"`
	// vLLM's: variables of the template, and whether the last message is continued.
	Variables map[string]any `json:"chat_template_kwargs"`
	Continue  bool           `json:"continue_final_message"`
	Generate  *bool          `json:"add_generation_prompt"`
	// Whether control tokens count that the conversation says.
	ParseSpecial bool `json:"parse_special"`

	custom map[string]bool // names of tools whose input is a text
}

// A document is a text that the answer may refer to.
type document struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// conversation returns what the model is given.
func (c *openaiChatRequest) conversation(l *host.Lease) (atenia.Conversation, error) {
	n := 0
	if c.LogProbs {
		n = max(c.TopLogProbs, 1)
	} else if c.TopLogProbs != 0 {
		return atenia.Conversation{}, host.Invalid("top_logprobs", "top_logprobs needs logprobs: true")
	}
	if c.TopLogProbs < 0 {
		return atenia.Conversation{}, host.Invalid("top_logprobs", "top_logprobs is %d, want 0 to %d", c.TopLogProbs, mostLogProbs)
	}
	o, err := c.options(l.Model, c, n)
	if err != nil {
		return atenia.Conversation{}, err
	}
	if err := c.ResponseFormat.constrain(&o, "response_format"); err != nil {
		return atenia.Conversation{}, err
	}
	out := atenia.Conversation{Options: o, Continue: c.Continue, Variables: c.Variables, ParseSpecial: c.ParseSpecial, OneCall: c.oneCall()}
	out.NoPrompt = c.Generate != nil && !*c.Generate && !c.Continue
	for _, d := range c.Documents {
		out.Documents = append(out.Documents, atenia.Document(d))
	}
	if c.Effort != "" {
		if out.Variables == nil {
			out.Variables = map[string]any{}
		}
		out.Variables["reasoning_effort"] = c.Effort
	}
	fs, err := c.functions()
	if err != nil {
		return out, err
	}
	c.custom = textTools(fs)
	if err := c.ToolChoice.into(&out, fs, nil); err != nil {
		return out, err
	}
	if out.Messages, err = openaiMessages(c.Messages); err == nil {
		out.Messages = l.Settle(out.Messages)
	}
	return out, err
}

// leaveOut takes tools out of a request that this server does not have.
func (c *openaiChatRequest) leaveOut(r *host.Request) error {
	for i := range c.Tools {
		switch t := &c.Tools[i]; t.Type {
		case "function", "custom", "mcp", "":
		default:
			t.left = true
			if err := r.LeaveOut(fmt.Sprintf("tools[%d]", i), t.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// functions returns what the model is told of tools.
func (c *openaiChatRequest) functions() (fs []openaiFunction, err error) {
	for i := range c.Tools {
		t, at := &c.Tools[i], fmt.Sprintf("tools[%d]", i)
		switch {
		case t.left:
			continue
		case t.Type == "mcp":
			return nil, host.Unsupported("tools", "%s is of type mcp: POST /v1/responses calls tools of MCP servers", at)
		case t.Type != "function" && t.Type != "custom":
			return nil, host.Unsupported("tools", "%s is of type %q, want function or custom", at, t.Type)
		}
		f, err := t.function(at)
		if err != nil {
			return nil, err
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// A Chat is what /v1/chat/completions takes, for another protocol that carries it.
type Chat struct{ openaiChatRequest }

// Bound makes a max_tokens of 0 the same as none, and refuses what only HTTP has.
func (c *Chat) Bound() error {
	if c.MaxTokens != nil && *c.MaxTokens == 0 {
		c.MaxTokens = nil
	}
	switch {
	case c.N != nil && *c.N != 1:
		return host.Unsupported("n", "n is %d, want 1: send further messages for further answers", *c.N)
	case c.LogProbs || c.TopLogProbs != 0:
		return host.Unsupported("logprobs", "logprobs are not supported here: POST /v1/chat/completions has them")
	}
	return nil
}

// Conversation returns what a model is given.
func (c *Chat) Conversation(l *host.Lease) (atenia.Conversation, error) { return c.conversation(l) }

// Prompt returns what a model is given of a text instead of messages.
func (c *Chat) Prompt(l *host.Lease, text string) (atenia.Prompt, error) {
	if len(c.Tools) > 0 || c.Messages != nil {
		return atenia.Prompt{}, host.Invalid("tools", "tools need messages instead of a prompt")
	}
	c.MaxCompletion = nil // which is of messages
	o, err := c.options(l.Model, c, 0)
	if err == nil {
		err = c.ResponseFormat.constrain(&o, "response_format")
	}
	return atenia.Prompt{Text: text, Options: o}, err
}

// A completion is the response, or a chunk of it, of chat or of completions.
type completion[C any] struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []C          `json:"choices"`
	Usage       *openaiUsage `json:"usage,omitempty"`

	Receipt json.RawMessage `json:"receipt,omitempty"` // with the reason of the end
}

// A chatChoice is one answer, whole or a piece.
type chatChoice struct {
	Index    int           `json:"index"`
	Message  *wholeMessage `json:"message,omitempty"`
	Delta    *openaiSaid   `json:"delta,omitempty"`
	LogProbs *chatProbs    `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

// An openaiSaid is a piece of what the assistant says.
type openaiSaid struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	thoughts
	ToolCalls []openaiCall `json:"tool_calls,omitempty"`
}

// thoughts are what the model thinks, by DeepSeek's name and by that of newer clients.
type thoughts struct {
	Content string `json:"reasoning_content,omitempty"`
	Plain   string `json:"reasoning,omitempty"`
}

// A wholeMessage is all of it, which has content and refusal also if there is none.
type wholeMessage struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Refusal *string `json:"refusal"`
	thoughts
	ToolCalls []openaiCall `json:"tool_calls,omitempty"`
}

func openaiChat(_ http.ResponseWriter, r *host.Request) error {
	var in openaiChatRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	n, err := in.choices()
	if err != nil {
		return err
	}
	if err := in.leaveOut(r); err != nil {
		return err
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
	c, err := in.conversation(l)
	if err != nil {
		return err
	}
	pieces, err := newSpeller(l.Model, in.LogProbs)
	if err != nil {
		return err
	}
	answers := make([]*openaiAnswer, n)
	for i := range answers {
		answers[i] = &openaiAnswer{top: in.TopLogProbs, speller: pieces, custom: in.custom}
	}
	ask := func(ctx context.Context, i int) iter.Seq2[atenia.Token, error] {
		each := c
		each.Sampling.Seed += uint64(i)
		return r.ChatWithin(ctx, l, each)
	}
	head := completion[chatChoice]{ID: "chatcmpl-" + r.ID, Created: now(), Model: l.Info.Name, Fingerprint: fingerprint}
	if in.Stream {
		head.Object = "chat.completion.chunk"
		s := &chatStream{chunks[chatChoice]{events, head, in.includesUsage()}, make([]bool, n)}
		return s.end(fan(r.Context(), n, ask, func(i int, t atenia.Token) error { return s.take(i, answers[i].add(t)) }), answers, n)
	}
	err = fan(r.Context(), n, ask, func(i int, t atenia.Token) error { answers[i].add(t); return nil })
	if err != nil {
		return err
	}
	head.Object, head.Usage, head.Receipt = "chat.completion", openaiTotal(answers, n), answers[0].receipt
	for i, a := range answers {
		head.Choices = append(head.Choices, a.choice(i))
	}
	return r.WriteJSON(http.StatusOK, head)
}

// fingerprint is of the program, which determines answers together with the seed.
const fingerprint = "atenia"

// Chunks are what a stream is written in; last one with the usage if it is wanted.
type chunks[C any] struct {
	events *host.Events
	head   completion[C]
	usage  bool
}

func (s *chunks[C]) send(c C) error {
	s.head.Choices = []C{c}
	return s.events.Data(s.head)
}

// end ends the stream of answers, n to a prompt, if there was no error.
func (s *chunks[C]) end(err error, answers []*openaiAnswer, n int) error {
	if err != nil {
		return err
	}
	if s.usage {
		s.head.Choices, s.head.Usage = []C{}, openaiTotal(answers, n)
		if err := s.events.Data(s.head); err != nil {
			return err
		}
	}
	return s.events.Text("[DONE]")
}

// A chatStream writes chunks: for each choice one with the role, then what is said, then
// one with the reason for its end.
type chatStream struct {
	chunks[chatChoice]
	begun []bool // by choice
}

func (s *chatStream) take(i int, d openaiDelta) error {
	if !s.begun[i] {
		s.begun[i] = true
		empty := ""
		if err := s.send(chatChoice{Index: i, Delta: &openaiSaid{Role: "assistant", Content: &empty}}); err != nil {
			return err
		}
	}
	if d.said() {
		out := &openaiSaid{thoughts: thoughts{d.reasoning, d.reasoning}}
		if d.text != "" || d.probs != nil {
			out.Content = &d.text
		}
		var rest *openaiCall
		if d.call != nil {
			first := *d.call
			rest = first.rest()
			out.ToolCalls = []openaiCall{first}
		}
		if err := s.send(chatChoice{Index: i, Delta: out, LogProbs: d.probs}); err != nil {
			return err
		}
		if rest != nil {
			if err := s.send(chatChoice{Index: i, Delta: &openaiSaid{ToolCalls: []openaiCall{*rest}}}); err != nil {
				return err
			}
		}
	}
	if d.finish != "" {
		s.head.Receipt = d.receipt
		defer func() { s.head.Receipt = nil }()
		return s.send(chatChoice{Index: i, Delta: &openaiSaid{}, Finish: &d.finish})
	}
	return nil
}

// beginOpenAI begins a stream of chunks. It ends with an error if there is one.
func beginOpenAI(r *host.Request) *host.Events {
	var e *host.Events
	e = r.Events(host.Manner{Ping: openaiPing, Fail: func(p *host.Problem) error { return e.Data(newOpenAIFailure(p)) }})
	return e
}

// openaiPing is a comment, which clients pass over (HTML, 9.2.6).
const openaiPing = ": ping\n\n"
