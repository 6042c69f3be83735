package dialect

// From the tokens of an answer to blocks, and to the events that tell of them.

import (
	"encoding/json"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// An anthropicReply is the message that answers a request.
type anthropicReply struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"` // message
	Role         string         `json:"role"` // assistant
	Model        string         `json:"model"`
	Content      []outBlock     `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        anthropicUsage `json:"usage"`

	Receipt json.RawMessage `json:"receipt,omitempty"`
}

// anthropicUsage counts tokens. Input are those of the prompt that were computed; those that
// were in the cache already are counted apart, as Anthropic does.
type anthropicUsage struct {
	Input         int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	Output        int `json:"output_tokens"`
}

// An outBlock is a block of an answer. Fields that are nil are not those of its type.
type outBlock struct {
	Type      string          `json:"type"` // text, thinking, tool_use
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// A blockEvent is content_block_start, content_block_delta or content_block_stop.
type blockEvent struct {
	Type  string      `json:"type"`
	Index int         `json:"index"`
	Block *outBlock   `json:"content_block,omitempty"`
	Delta *blockDelta `json:"delta,omitempty"`
}

// A blockDelta is more of a block.
type blockDelta struct {
	Type     string  `json:"type"` // text_delta, thinking_delta, input_json_delta
	Text     *string `json:"text,omitempty"`
	Thinking *string `json:"thinking,omitempty"`
	JSON     *string `json:"partial_json,omitempty"`
}

// A messageDelta is the event that says why the answer ended.
type messageDelta struct {
	Type  string         `json:"type"` // message_delta
	Delta stopReason     `json:"delta"`
	Usage anthropicUsage `json:"usage"`

	Receipt json.RawMessage `json:"receipt,omitempty"`
}

type stopReason struct {
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type messageStart struct {
	Type    string          `json:"type"` // message_start
	Message *anthropicReply `json:"message"`
}

type bareEvent struct {
	Type string `json:"type"` // message_stop, ping
}

// An anthropicAnswer becomes blocks as its tokens come. Both forms of a response are made by
// it, so that they say the same.
type anthropicAnswer struct {
	anthropicReply
	max    int                             // tokens that were allowed; 0 = up to the context
	mute   bool                            // thoughts are left out
	emit   func(event string, v any) error // nil: the message is wanted as a whole
	said   strings.Builder                 // of the block that is open
	call   int                             // index of the call that is open
	closed bool                            // the last block is complete
	calls  int                             // calls so far
}

func newAnthropicAnswer(id, model string, in *anthropicRequest) *anthropicAnswer {
	a := &anthropicAnswer{anthropicReply: anthropicReply{ID: id, Type: "message", Role: "assistant", Model: model, Content: []outBlock{}}}
	if in.MaxTokens != nil {
		a.max = *in.MaxTokens
	}
	a.mute = !in.thinks() || in.Thinking.Display == "omitted"
	return a
}

// send emits an event of a stream.
func (a *anthropicAnswer) send(event string, v any) error {
	if a.emit == nil {
		return nil
	}
	return a.emit(event, v)
}

// start tells of the message before its first token. input is the length of the prompt.
func (a *anthropicAnswer) start(input int) error {
	a.Usage.Input = input
	return a.send("message_start", messageStart{"message_start", &a.anthropicReply})
}

// add takes a token.
func (a *anthropicAnswer) add(t *atenia.Token) error {
	a.Usage.Output++ // the last token brings the exact numbers
	if t.Reasoning != "" && !a.mute {
		if err := a.more("thinking", t.Reasoning); err != nil {
			return err
		}
	}
	if t.Text != "" {
		if err := a.more("text", t.Text); err != nil {
			return err
		}
	}
	switch c := t.Call; {
	case c == nil, c.Broken && c.Name != "": // nothing was said of a call that is none
		return nil
	case c.Broken:
		return a.drop()
	default:
		return a.calling(c)
	}
}

// drop takes back a call that turned out to be none. A client that was told of it already
// sees by the reason why the answer ended that there is nothing to run.
func (a *anthropicAnswer) drop() error {
	a.calls--
	if a.emit != nil {
		return a.end()
	}
	a.Content, a.closed = a.Content[:len(a.Content)-1], true
	a.said.Reset()
	return nil
}

// more adds to the block that is open, or opens one of another kind.
func (a *anthropicAnswer) more(kind, text string) error {
	if a.open() != kind {
		b := outBlock{Type: kind}
		empty := ""
		if kind == "text" {
			b.Text = &empty
		} else {
			b.Thinking, b.Signature = &empty, &empty
		}
		if err := a.begin(b); err != nil {
			return err
		}
	}
	d := &blockDelta{Type: kind + "_delta", Text: &text}
	if kind == "thinking" {
		d.Text, d.Thinking = nil, &text
	}
	return a.delta(d, text)
}

// calling adds a part of a call of a function.
func (a *anthropicAnswer) calling(c *atenia.CallPart) error {
	if a.open() != "tool_use" || a.call != c.Index {
		if err := a.begin(outBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: json.RawMessage("{}")}); err != nil {
			return err
		}
		a.call = c.Index
		a.calls++
	}
	if c.Arguments == "" {
		return nil
	}
	return a.delta(&blockDelta{Type: "input_json_delta", JSON: &c.Arguments}, c.Arguments)
}

// open returns the type of the block that more can be added to, "" if there is none.
func (a *anthropicAnswer) open() string {
	if len(a.Content) == 0 || a.closed {
		return ""
	}
	return a.Content[len(a.Content)-1].Type
}

// begin closes the block that is open and opens another.
func (a *anthropicAnswer) begin(b outBlock) error {
	if err := a.end(); err != nil {
		return err
	}
	a.Content, a.closed = append(a.Content, b), false
	return a.send("content_block_start", blockEvent{Type: "content_block_start", Index: len(a.Content) - 1, Block: &b})
}

func (a *anthropicAnswer) delta(d *blockDelta, text string) error {
	a.said.WriteString(text)
	return a.send("content_block_delta", blockEvent{Type: "content_block_delta", Index: len(a.Content) - 1, Delta: d})
}

// end closes the block that is open, if any.
func (a *anthropicAnswer) end() error {
	if a.open() == "" {
		return nil
	}
	a.closed = true
	text := a.said.String()
	a.said.Reset()
	switch b := &a.Content[len(a.Content)-1]; b.Type {
	case "text":
		b.Text = &text
	case "thinking":
		b.Thinking = &text
	case "tool_use":
		b.Input = host.Object(text)
	}
	return a.send("content_block_stop", blockEvent{Type: "content_block_stop", Index: len(a.Content) - 1})
}

// finish ends the message. t is the last token.
func (a *anthropicAnswer) finish(t *atenia.Token) error {
	if err := a.end(); err != nil {
		return err
	}
	if u := t.Usage; u != nil {
		a.Usage = anthropicUsage{Input: u.Prompt - u.Cached, CacheRead: u.Cached, Output: u.Answer}
	}
	a.Receipt = t.Receipt
	reason := a.reason(t)
	a.StopReason = &reason
	if reason == "stop_sequence" {
		a.StopSequence = &t.Stop
	}
	if err := a.send("message_delta", messageDelta{"message_delta", stopReason{a.StopReason, a.StopSequence}, a.Usage, a.Receipt}); err != nil {
		return err
	}
	return a.send("message_stop", bareEvent{"message_stop"})
}

// reason is why the model ended, in Anthropic's words.
func (a *anthropicAnswer) reason(t *atenia.Token) string {
	switch {
	case t.Finish == "length" && a.max > 0 && a.Usage.Output >= a.max:
		return "max_tokens"
	case t.Finish == "length":
		return "model_context_window_exceeded"
	case t.Stop != "":
		return "stop_sequence"
	case a.calls > 0:
		return "tool_use"
	}
	return "end_turn"
}
