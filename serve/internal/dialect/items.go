package dialect

// What /v1/responses answers: items, and the events that tell how they come to be.

import (
	"encoding/json"
	"fmt"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// An event of a stream; its type is in "type".
type event = map[string]any

// A response is what is returned, and what the events of a stream begin and end with.
type response struct {
	ID           string        `json:"id"`
	Object       string        `json:"object"`
	Created      int64         `json:"created_at"`
	Status       string        `json:"status"`
	Error        any           `json:"error"`
	Incomplete   any           `json:"incomplete_details"`
	Instructions *string       `json:"instructions"`
	MaxOutput    *int          `json:"max_output_tokens"`
	Model        string        `json:"model"`
	Output       []any         `json:"output"`
	Parallel     bool          `json:"parallel_tool_calls"`
	Previous     *string       `json:"previous_response_id"`
	Conversation *reference    `json:"conversation"`
	Background   bool          `json:"background"`
	Store        bool          `json:"store"`
	Temperature  *float32      `json:"temperature"`
	ToolChoice   any           `json:"tool_choice"`
	Tools        []any         `json:"tools"`
	TopP         *float32      `json:"top_p"`
	Truncation   string        `json:"truncation"`
	Metadata     metadata      `json:"metadata"`
	Usage        *respondUsage `json:"usage"`
	echoed

	Receipt json.RawMessage `json:"receipt,omitempty"`
}

type respondUsage struct {
	Input   int `json:"input_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// A textItem is a message, or reasoning.
type textItem struct {
	ID      string     `json:"id"`
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Role    string     `json:"role,omitempty"`
	Summary []textPart `json:"summary,omitzero"` // of reasoning
	Content []textPart `json:"content"`
}

type textPart struct {
	Type        string `json:"type"` // "output_text" or "reasoning_text"
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	LogProbs    []prob `json:"logprobs,omitzero"` // of "output_text"
}

// A callItem is a call of a function.
type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Space     string `json:"namespace,omitempty"`
	Arguments string `json:"arguments"`
}

// A customItem is a call of a custom tool.
type customItem struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Status string `json:"status"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Space  string `json:"namespace,omitempty"`
	Input  string `json:"input"`
}

// An output makes items of an answer's pieces.
type output struct {
	response response
	in       *respondRequest
	id       string
	answer   openaiAnswer
	send     func(event) error
	keep     func() // the response, which has ended
	sequence int
	started  bool

	// What the item is that is being written: "message", "reasoning", "function_call", "custom_tool_call", "mcp_call",
	// "mcp_approval_request"; "" = none.
	open   string
	text   strings.Builder
	probs  []prob // of the text
	early  []prob // of tokens whose text is still to come
	call   callItem
	tool   *hostedTool // of an MCP server, that the call is of
	broken bool        // the call is none

	hosted  *hosted   // nil = there are no tools of MCP servers
	waiting []waiting // calls to make when the answer has ended
	client  bool      // a call is for the client to make or to approve of
	finish  string
	usage   atenia.Usage // of all answers
	last    int          // tokens of the last one, with its prompt
}

func newOutput(id string, in *respondRequest) *output {
	o := &output{in: in, id: id, answer: openaiAnswer{speller: &speller{}}, send: func(event) error { return nil }, keep: func() {}}
	o.response = response{
		ID: "resp_" + id, Object: "response", Created: now(), Status: "in_progress", Model: in.Model, MaxOutput: in.MaxOutput,
		Output: []any{}, Parallel: !in.oneCall(), Truncation: in.Truncation, Temperature: in.Temperature, ToolChoice: in.ToolChoice.echo(), Tools: in.echoTools(), TopP: in.TopP, echoed: in.echo(), Metadata: in.Metadata,
		Previous: in.Previous, Conversation: in.Conversation, Background: in.Background, Store: in.stored(),
	}
	if in.Metadata == nil {
		o.response.Metadata = metadata{}
	}
	if in.Instructions != "" {
		o.response.Instructions = &in.Instructions
	}
	return o
}

// start tells of the response before anything else, once.
func (o *output) start() error {
	if o.started {
		return nil
	}
	o.started = true
	return o.sendAll(event{"type": "response.created", "response": o.response}, event{"type": "response.in_progress", "response": o.response})
}

// take adds a token.
func (o *output) take(t atenia.Token) error {
	if err := o.start(); err != nil {
		return err
	}
	if t.Call != nil && t.Call.Broken {
		o.broken = true
	}
	d := o.answer.add(t)
	if d.probs != nil {
		o.early = append(o.early, d.probs.Content...)
	}
	if d.reasoning != "" {
		if err := o.piece("reasoning", d.reasoning); err != nil {
			return err
		}
	}
	if d.text != "" {
		if err := o.piece("message", d.text); err != nil {
			return err
		}
	}
	if d.call != nil {
		if err := o.calling(d.call); err != nil {
			return err
		}
	}
	if d.finish == "" {
		return nil
	}
	o.finish, o.response.Receipt = d.finish, d.receipt
	if u := t.Usage; u != nil {
		o.last = u.Prompt + u.Answer
		o.usage.Prompt += u.Prompt
		o.usage.Cached += u.Cached
		o.usage.Answer += u.Answer
	}
	if o.finish == "length" {
		return o.close("incomplete")
	}
	return o.close("completed")
}

// itemID is the id of the item that is being written.
func (o *output) itemID() string {
	return fmt.Sprintf("%s_%s_%d", itemPrefixes[o.open], o.id, len(o.response.Output))
}

// piece adds text to a message or to reasoning.
func (o *output) piece(kind, text string) error {
	if o.open != kind {
		if err := o.close("completed"); err != nil {
			return err
		}
		o.open = kind
		if err := o.send(o.addedEvent(o.item("in_progress"))); err != nil {
			return err
		}
		if err := o.send(o.at("response.content_part.added", event{"content_index": 0, "part": o.part()})); err != nil {
			return err
		}
	}
	o.text.WriteString(text)
	probs := []prob{}
	if kind == "message" {
		probs = append(probs, o.early...)
		o.probs = append(o.probs, probs...)
	}
	o.early = nil
	return o.send(o.at("response."+o.part().Type+".delta", event{"content_index": 0, "delta": text, "logprobs": probs}))
}

// at completes an event about the item that is being written.
func (o *output) at(kind string, e event) event {
	e["type"], e["item_id"], e["output_index"] = kind, o.itemID(), len(o.response.Output)
	return e
}

func (o *output) part() textPart {
	if o.open == "reasoning" {
		return textPart{Type: "reasoning_text", Text: o.text.String(), Annotations: []any{}}
	}
	return textPart{Type: "output_text", Text: o.text.String(), Annotations: []any{}, LogProbs: append([]prob{}, o.probs...)}
}

// item returns the item that is being written.
func (o *output) item(status string) any {
	switch o.open {
	case "function_call":
		o.call.ID, o.call.Type, o.call.Status = o.itemID(), o.open, status
		return o.call
	case "custom_tool_call":
		c := customItem{o.itemID(), o.open, status, o.call.CallID, o.call.Name, o.call.Space, ""}
		if status != "in_progress" {
			c.Input = customInput(o.call.Arguments)
		}
		return c
	}
	i := textItem{ID: o.itemID(), Type: o.open, Status: status, Content: []textPart{}}
	if o.open == "message" {
		i.Role = "assistant"
	} else {
		i.Summary = []textPart{}
	}
	if o.text.Len() > 0 {
		i.Content = append(i.Content, o.part())
	}
	return i
}

// calling adds a part of a call. The first part of each has an ID.
func (o *output) calling(c *openaiCall) error {
	if c.ID != "" {
		if err := o.close("completed"); err != nil {
			return err
		}
		if err := o.beginCall(c); err != nil {
			return err
		}
	}
	o.early = nil
	if c.Custom != nil {
		o.call.Arguments += c.raw
		if c.Custom.Input == "" {
			return nil
		}
		return o.send(o.at("response.custom_tool_call_input.delta", event{"delta": c.Custom.Input}))
	}
	if c.Function.Arguments == "" {
		return nil
	}
	o.call.Arguments += c.Function.Arguments
	if o.open == "mcp_approval_request" {
		return nil // it is told whole
	}
	return o.send(o.at("response."+o.open+"_arguments.delta", event{"delta": c.Function.Arguments}))
}

// beginCall begins the item of a call.
func (o *output) beginCall(c *openaiCall) error {
	o.open, o.call, o.tool, o.broken = "function_call", callItem{CallID: c.ID, Name: c.name()}, nil, false
	if c.Custom != nil {
		o.open = "custom_tool_call"
	}
	if s, ok := o.in.spaces[c.name()]; ok {
		o.call.Name, o.call.Space = s.name, s.space
	}
	if o.hosted != nil {
		o.tool = o.hosted.tools[c.name()]
	}
	if o.tool == nil {
		return o.send(o.addedEvent(o.item("in_progress")))
	}
	if asks, _ := o.hosted.r.Tools().Asks(o.tool.server, o.tool.name, o.tool.wants); asks {
		o.open = "mcp_approval_request"
		return nil
	}
	o.open = "mcp_call"
	if err := o.send(o.addedEvent(o.mcpCall("in_progress"))); err != nil {
		return err
	}
	return o.send(o.at("response.mcp_call.in_progress", event{}))
}

// close ends the item that is being written.
func (o *output) close(status string) error {
	whole := status == "completed" && !o.broken
	switch o.open {
	case "":
		return nil
	case "mcp_call":
		err := o.endCall(whole)
		o.open = ""
		return err
	case "mcp_approval_request":
		var err error
		if whole {
			err = o.ask()
		}
		o.open = ""
		return err
	case "function_call", "custom_tool_call":
		o.client = o.client || whole
	}
	item := o.item(status)
	var done []event
	switch o.open {
	case "function_call":
		done = append(done, o.at("response.function_call_arguments.done", event{"arguments": o.call.Arguments, "name": o.call.Name}))
	case "custom_tool_call":
		done = append(done, o.at("response.custom_tool_call_input.done", event{"input": customInput(o.call.Arguments)}))
	default:
		p := o.part()
		done = append(
			done,
			o.at("response."+p.Type+".done", event{"content_index": 0, "text": p.Text, "logprobs": append([]prob{}, p.LogProbs...)}),
			o.at("response.content_part.done", event{"content_index": 0, "part": p}),
		)
	}
	o.response.Output = append(o.response.Output, item)
	if err := o.sendAll(append(done, o.doneEvent(len(o.response.Output)-1))...); err != nil {
		return err
	}
	o.open, o.probs = "", nil
	o.text.Reset()
	return nil
}

// end ends the response. Calls that did not run are incomplete.
func (o *output) end() error {
	for _, w := range o.waiting {
		if err := o.incomplete(w.item); err != nil {
			return err
		}
	}
	status := "completed"
	if o.finish == "length" {
		status = "incomplete"
		o.response.Incomplete = map[string]string{"reason": "max_output_tokens"}
	}
	if o.response.Status = status; status == "completed" {
		at := now()
		o.response.Completed = &at
	}
	u := &o.usage
	o.response.Usage = &respondUsage{Input: u.Prompt, Output: u.Answer, Total: u.Prompt + u.Answer}
	o.response.Usage.Details.Cached = u.Cached
	o.keep()
	return o.send(event{"type": "response." + status, "response": o.response})
}

// fail ends a stream that has begun, if only with pings.
func (o *output) fail(p *host.Problem) error {
	if err := o.start(); err != nil {
		return err
	}
	o.response.Status, o.response.Error = "failed", map[string]string{"code": p.Code, "message": host.Short(p.Message)}
	o.keep()
	return o.send(event{"type": "response.failed", "response": o.response})
}
