package dialect

// Tools of the type "mcp" of /v1/responses: those of MCP servers, which this server calls. What is
// said about them in items and events is in mcpitems.go.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// An mcpTool is what a tool of the type "mcp" says: a server, and which of its tools.
type mcpTool struct {
	Label     string          `json:"server_label"`
	URL       string          `json:"server_url"`
	Connector string          `json:"connector_id"`
	Tunnel    string          `json:"tunnel_id"`
	Login     string          `json:"authorization"`
	Headers   json.RawMessage `json:"headers"`
	Allowed   *toolNames      `json:"allowed_tools"`
	Approval  approvals       `json:"require_approval"`

	About   json.RawMessage `json:"server_description"` // accepted because clients send them; they change nothing here
	Callers json.RawMessage `json:"allowed_callers"`
	Defer   json.RawMessage `json:"defer_loading"`
}

// toolNames are names, or a filter that has them.
type toolNames []string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *toolNames) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, (*[]string)(n))
	}
	var f struct {
		Names    []string        `json:"tool_names"`
		ReadOnly json.RawMessage `json:"read_only"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	if f.ReadOnly != nil && !bytes.Equal(f.ReadOnly, []byte("null")) {
		return host.Unsupported("tools", "read_only is not supported, because it is what the MCP server says of itself: name the tools in tool_names")
	}
	*n = f.Names
	return nil
}

// approvals say which calls the client wants to be asked about.
type approvals struct {
	all           string // "always", "never", "" = it says nothing
	always, never toolNames
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *approvals) UnmarshalJSON(b []byte) error {
	*a = approvals{}
	if len(b) > 0 && b[0] == '{' {
		var f struct {
			Always toolNames `json:"always"`
			Never  toolNames `json:"never"`
		}
		err := json.Unmarshal(b, &f)
		a.always, a.never = f.Always, f.Never
		return err
	}
	if err := json.Unmarshal(b, &a.all); err != nil {
		return err
	}
	if a.all != "" && a.all != host.Always && a.all != host.Never {
		return host.Invalid("tools", "require_approval is %q, want always, never or an object", a.all)
	}
	return nil
}

// of returns what they say about a tool.
func (a *approvals) of(tool string) string {
	switch {
	case slices.Contains(a.always, tool):
		return host.Always
	case slices.Contains(a.never, tool):
		return host.Never
	}
	return a.all
}

// check refuses what is not a server that the operator configured.
func (t *mcpTool) check(at string, servers host.ToolServers) error {
	switch {
	case servers == nil:
		return host.Unsupported("tools", "%s is of type mcp, and this server has no MCP servers: its operator names them with --mcp", at)
	case t.URL != "" || t.Connector != "" || t.Tunnel != "":
		return host.Unsupported("tools", "%s has an address: this server calls no addresses of its clients. Leave it out; server_label names one of the servers that its operator configured", at)
	case t.Login != "" || len(t.Headers) > 0 && !bytes.Equal(t.Headers, []byte("null")) && !bytes.Equal(t.Headers, []byte("{}")):
		return host.Unsupported("tools", "%s has headers or an authorization, which are for the operator of this server to configure", at)
	case !slices.Contains(servers.Servers(), t.Label):
		return host.Invalid("tools", "%s: server_label is %q, want one of %q", at, t.Label, servers.Servers())
	}
	return nil
}

// hosted are the tools of MCP servers of one request, and its calls.
type hosted struct {
	r       *host.Request
	o       *output
	l       *host.Lease
	room    int                    // tokens that results may still have
	tools   map[string]*hostedTool // by the name that the model knows
	left    int                    // calls
	final   bool                   // the model answers without these tools
	called  bool                   // a call was made: what is told of it must not be lost
	approve []approval
}

// A hostedTool is one tool.
type hostedTool struct {
	server, name string
	wants        string // what the request says about approval
}

// An approval is of a call that has not run yet.
type approval struct {
	message   int // index of the message that is its result
	request   string
	tool      *hostedTool
	arguments string
}

// newHosted checks the tools of a request. It returns nil if none are of MCP servers.
func newHosted(r *host.Request, o *output, in *respondRequest) (*hosted, error) {
	h := &hosted{r: r, o: o, tools: map[string]*hostedTool{}, left: r.Tools().Calls}
	if in.MaxCalls != nil {
		if *in.MaxCalls < 1 {
			return nil, host.Invalid("max_tool_calls", "max_tool_calls is %d, want 1 or more", *in.MaxCalls)
		}
		h.left = min(h.left, *in.MaxCalls)
	}
	seen := map[string]bool{}
	for i := range in.Tools {
		t := &in.Tools[i]
		if t.Type != "mcp" {
			continue
		}
		at := fmt.Sprintf("tools[%d]", i)
		if err := t.check(at, r.Tools().Servers); err != nil {
			return nil, err
		}
		if seen[t.Label] {
			return nil, host.Invalid("tools", "%s: the server %q is there twice", at, t.Label)
		}
		seen[t.Label] = true
	}
	if len(seen) == 0 {
		return nil, nil
	}
	return h, nil
}

// list asks the servers for their tools, tells of them, and returns those that the request
// allows as functions with the names that the model is told.
func (h *hosted) list(in *respondRequest, own []openaiFunction) ([]openaiFunction, error) {
	told, taken := map[string]bool{}, map[string]bool{}
	for _, e := range in.Input {
		if e.Type == "mcp_list_tools" {
			told[e.Label] = true
		}
	}
	for _, f := range own {
		taken[f.Name] = true
	}
	var fs []openaiFunction
	for _, t := range in.Tools {
		if t.Type != "mcp" {
			continue
		}
		list, err := h.r.ListTools(t.Label)
		if h.r.Context().Err() != nil {
			return nil, err
		}
		var allowed []atenia.Tool
		for _, tool := range list {
			if t.Allowed == nil || slices.Contains(*t.Allowed, tool.Name) {
				allowed = append(allowed, tool)
			}
		}
		if !told[t.Label] || err != nil {
			if err := h.o.listed(t.Label, allowed, err); err != nil {
				return nil, err
			}
		}
		for _, tool := range allowed {
			f := openaiFunction{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters}
			if taken[f.Name] {
				f.Name = t.Label + "__" + tool.Name
			}
			if taken[f.Name] || !host.IsObject(tool.Parameters) {
				continue // the name of another server's, or parameters that are none
			}
			taken[f.Name] = true
			h.tools[f.Name] = &hostedTool{t.Label, tool.Name, t.Approval.of(tool.Name)}
			fs = append(fs, f)
		}
	}
	return fs, nil
}

// known returns the name that the model knows a tool by, and the tool, nil if the request
// does not offer it.
func (h *hosted) known(server, name string) (string, *hostedTool) {
	if h != nil {
		for known, t := range h.tools {
			if t.server == server && t.name == name {
				return known, t
			}
		}
	}
	return name, nil
}

// settle takes the client's answers to questions about calls: all of them, or none. Whatever
// can refuse the request with calls that may run is checked before.
func (in *respondRequest) settle(r *host.Request, l *host.Lease, c atenia.Conversation, h *hosted) error {
	if h != nil && len(h.approve) > 0 {
		c.Messages = l.Settle(c.Messages)
		in.truncate(r, l.Model, &c)
		n, err := r.Check(l, c)
		if err != nil {
			return err
		}
		h.leave(n)
	}
	if err := r.Spend(in.answers); err != nil {
		return host.Invalid("input", "input approves of %v", err)
	}
	return nil
}

// approved runs the calls that the client approved of, and gives the conversation their results.
func (h *hosted) approved(c *atenia.Conversation) error {
	for _, a := range h.approve {
		if err := h.o.start(); err != nil {
			return err
		}
		i, err := h.o.approved(&a)
		if err != nil {
			return err
		}
		result, err := h.run(i, "approval")
		if err != nil {
			return err
		}
		c.Messages[a.message].Content = result
	}
	return nil
}

// run makes the call of an item of the output, and returns what the model is told.
func (h *hosted) run(i int, rule string) (string, error) {
	item := h.o.response.Output[i].(mcpCallItem)
	if h.left == 0 {
		h.r.Decided(host.ToolDecision{Server: item.Label, Tool: item.Name, Action: "skip", Rule: "calls"})
		err := &host.ToolError{Code: refusedCall, Message: "no more calls are allowed for this request"}
		return "error: " + err.Message, h.o.called(i, "", false, err)
	}
	if !host.IsObject(json.RawMessage(item.Arguments)) {
		err := &host.ToolError{Code: invalidParams, Message: "the arguments are no JSON object"}
		h.r.Decided(host.ToolDecision{Server: item.Label, Tool: item.Name, Action: "skip", Rule: "arguments"})
		return "error: " + err.Message, h.o.called(i, "", false, err)
	}
	h.left--
	h.called = true
	text, failed, err := h.r.CallTool(item.Label, item.Name, rule, json.RawMessage(item.Arguments))
	if h.r.Context().Err() != nil {
		return "", err
	}
	text, broken := h.fit(text)
	if broken == nil {
		broken = h.o.called(i, text, failed, err)
	}
	if broken != nil {
		return "", broken
	}
	switch {
	case err != nil:
		return "error: " + err.Error(), nil
	case failed:
		return "error: " + text, nil
	}
	return text, nil
}

// Tokens that are kept free in the context.
const (
	answerRoom = 256 // for the answer after the results, or a quarter of a short context
	resultRoom = 32  // for what stands around a result
)

// leave says how many tokens the conversation has without results.
func (h *hosted) leave(tokens int) {
	h.room = h.l.Context() - min(answerRoom, h.l.Context()/4) - tokens
}

// fit cuts a result to what the context has room for: the prompt after it would be refused.
func (h *hosted) fit(text string) (string, error) {
	t, err := h.l.Tokenizer()
	if err != nil {
		return "", err
	}
	h.room = max(h.room-resultRoom, 0)
	short, n := text, len(t.Encode(text, false))
	for n > h.room {
		short = strings.ToValidUTF8(short[:len(short)*h.room/n], "")
		n = len(t.Encode(short, false))
	}
	h.room -= n
	if len(short) < len(text) {
		short = fmt.Sprintf("%s\n[cut: %d of %d bytes]", short, len(short), len(text))
	}
	return short, nil
}

// Codes of JSON-RPC.
const (
	invalidParams = -32602
	refusedCall   = -32000 // of those that are for servers to define
)

// next runs the calls of the answer that ended, and continues the conversation with their
// results. It returns false if the answer was the last: it has no calls, or one that is for the
// client to make or to approve of. A model that calls more often than it may is told so, and then
// answers without these tools.
func (h *hosted) next(c *atenia.Conversation, most *int) (bool, error) {
	o := h.o
	if len(o.waiting) == 0 || o.finish == "length" {
		return false, nil
	}
	spent := h.left == 0
	h.leave(o.last)
	said := atenia.Message{Role: "assistant", Content: o.answer.text.String(), Reasoning: o.answer.reasoning.String()}
	var results []atenia.Message
	for _, w := range o.waiting {
		item := o.response.Output[w.item].(mcpCallItem)
		known, tool := h.known(item.Label, item.Name)
		_, rule := h.r.Tools().Asks(tool.server, tool.name, tool.wants)
		result, err := h.run(w.item, rule)
		if err != nil {
			return false, err
		}
		call := atenia.ToolCall{ID: w.call, Name: known}
		if host.IsObject(json.RawMessage(item.Arguments)) {
			call.Arguments = json.RawMessage(item.Arguments)
		}
		said.ToolCalls = append(said.ToolCalls, call)
		results = append(results, atenia.Message{Role: "tool", ToolCallID: w.call, Name: known, Content: result})
	}
	o.waiting = nil
	if o.client || h.final {
		return false, nil
	}
	c.Messages = append(append(slices.Clip(c.Messages), said), results...)
	c.MustCall = "" // the demand was met
	if h.final = spent; spent {
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t atenia.Tool) bool { return h.tools[t.Name] != nil })
	}
	if most != nil {
		if c.MaxTokens = *most - o.usage.Answer; c.MaxTokens < 1 {
			o.finish = "length"
			return false, nil
		}
	}
	return true, nil
}
