package dialect

// POST /v1/responses: what is asked. The items that go in are in history.go, those that come out
// in items.go.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"atenia"
	"atenia/serve/internal/host"
)

// A respondRequest is the body. Input is the whole conversation once [Store.resume] has put what
// it continues before it.
type respondRequest struct {
	openaiAsk
	Input        input      `json:"input"`
	Instructions string     `json:"instructions"`
	MaxOutput    *int       `json:"max_output_tokens"`
	Tools        []flatTool `json:"tools"`
	ToolChoice   toolChoice `json:"tool_choice"`
	Text         struct {
		Format *flatFormat `json:"format"`
	} `json:"text"`
	Reasoning struct {
		Effort  string          `json:"effort"`
		Summary json.RawMessage `json:"summary"`
	} `json:"reasoning"`
	Previous     *string    `json:"previous_response_id"`
	Conversation *reference `json:"conversation"`
	Store        *bool      `json:"store"`
	Metadata     metadata   `json:"metadata"`
	Background   bool       `json:"background"`
	Truncation   string     `json:"truncation"`
	Include      []string   `json:"include"`
	TopLogProbs  int        `json:"top_logprobs"`
	MaxCalls     *int       `json:"max_tool_calls"`
	Special      bool       `json:"parse_special"`

	items   []json.RawMessage     // the input as it is kept
	before  int                   // items of it that are not the request's own
	answers []host.Answer         // to questions about calls
	spaces  map[string]spacedName // of tools of namespaces, by the names that the model knows
	custom  map[string]bool       // names of tools whose input is a text
}

// A flatTool is a tool whose function has no object of its own, or those of an MCP server.
type flatTool struct {
	Type string `json:"type"`
	openaiFunction
	mcpTool
	Format *customFormat `json:"format"` // of a custom tool
	Tools  []flatTool    `json:"tools"`  // of a namespace

	space string // the namespace that it is of; "" = none
	left  bool   // out of the request
}

// A spacedName is a tool's name, and the namespace that it is of.
type spacedName struct{ space, name string }

// A flatFormat is a format whose schema has no object of its own.
type flatFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	About  *string         `json:"description"` // it changes nothing here
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict"`
}

// An input is a text or items.
type input []item

// UnmarshalJSON implements [json.Unmarshaler].
func (p *input) UnmarshalJSON(b []byte) error {
	*p = nil
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*p = input{{Role: "user", Content: openaiContent{text: text}, raw: textInput(b)}}
		return nil
	}
	var raws []json.RawMessage
	// Package json makes an item of each element, also of those that cannot be one.
	var e json.RawMessage
	each := json.NewDecoder(bytes.NewReader(b))
	if open, err := each.Token(); err != nil || open != json.Delim('[') {
		return host.Invalid("input", "input is neither a text nor a list")
	}
	for i := 0; each.More(); i++ {
		if err := each.Decode(&e); err != nil {
			return err
		}
		if e[0] != '{' {
			return host.Invalid("input", "input[%d] is no object", i)
		}
		raws = append(raws, bytes.Clone(e))
	}
	err := json.Unmarshal(b, (*[]item)(p))
	for i := range min(len(raws), len(*p)) {
		(*p)[i].raw = raws[i]
	}
	return err
}

// An item is a message, a call of a function, its output, reasoning, or about tools of an
// MCP server.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   openaiContent   `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Space     string          `json:"namespace"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"` // of a custom tool
	Output    openaiContent   `json:"output"`
	ID        *string         `json:"id"`
	Status    json.RawMessage `json:"status"`
	Summary   json.RawMessage `json:"summary"`

	Label    string          `json:"server_label"`
	Tools    json.RawMessage `json:"tools"`
	Error    json.RawMessage `json:"error"`
	Approval string          `json:"approval_request_id"`
	Approve  bool            `json:"approve"`
	Reason   string          `json:"reason"`

	raw json.RawMessage // as it came
}

func (e *item) id() string {
	if e.ID == nil {
		return ""
	}
	return *e.ID
}

// conversation returns what the model is given, but for tools and messages.
func (in *respondRequest) conversation(l *host.Lease) (c atenia.Conversation, err error) {
	c.ParseSpecial, c.OneCall = in.Special, in.oneCall()
	if c.Options, err = in.options(l.Model, in, in.logProbs()); err != nil {
		return c, err
	}
	if f := in.Text.Format; f != nil {
		if err := (&responseFormat{Type: f.Type, Schema: &responseSchema{Name: f.Name, Schema: f.Schema, Strict: f.Strict}}).constrain(&c.Options, "text.format"); err != nil {
			return c, err
		}
	}
	if in.Reasoning.Effort != "" {
		c.Variables = map[string]any{"reasoning_effort": in.Reasoning.Effort}
	}
	return c, nil
}

// most returns how many tokens the answer may have; nil = as many as there is room for.
func (in *respondRequest) most() *int {
	if in.MaxOutput != nil {
		return in.MaxOutput
	}
	return in.MaxTokens
}

// includeProbs is the value of include that wants log-probabilities.
const includeProbs = "message.output_text.logprobs"

// logProbs returns how many log-probabilities each token has; 0 = they are not wanted.
func (in *respondRequest) logProbs() int {
	if !slices.Contains(in.Include, includeProbs) {
		return 0
	}
	return max(in.TopLogProbs, 1)
}

// checkInclude says in the log what is not included.
func (in *respondRequest) checkInclude(r *host.Request) error {
	for _, what := range in.Include {
		if what != includeProbs {
			r.Log.Warn("value of include is ignored", "value", what)
		}
	}
	if in.TopLogProbs < 0 || in.TopLogProbs > mostLogProbs {
		return host.Invalid("top_logprobs", "top_logprobs is %d, want 0 to %d", in.TopLogProbs, mostLogProbs)
	}
	if in.TopLogProbs > 0 && in.logProbs() == 0 {
		r.Log.Warn("top_logprobs is ignored without include: [\"" + includeProbs + "\"]")
	}
	return nil
}

// unfold takes tools out of their namespaces, and out of the request what this server does not
// have; r is told of it, if it is not nil.
func (in *respondRequest) unfold(r *host.Request) error {
	var all []flatTool
	for i, t := range in.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		within := []flatTool{t}
		if t.Type == "namespace" {
			if within = t.Tools; t.Name == "" {
				return host.Invalid(at, "%s has no name", at)
			}
		}
		for j, u := range within {
			if t.Type == "namespace" {
				u.space, at = t.Name, fmt.Sprintf("tools[%d].tools[%d]", i, j)
			}
			switch {
			case u.Type == "function", u.Type == "custom", u.Type == "mcp" && u.space == "":
			default:
				u.left = true
				if err := r.LeaveOut(at, u.Type); err != nil {
					return err
				}
			}
			all = append(all, u)
		}
	}
	in.Tools = all
	return nil
}

// known returns the name by which the model knows a tool: that of a namespace's has the
// namespace before it if another tool has the same.
func (in *respondRequest) known(space, name string) string {
	if space == "" {
		return name
	}
	for known, s := range in.spaces {
		if s.space == space && s.name == name {
			return known
		}
	}
	return name
}

// functions returns what the model is told of functions and custom tools.
func (in *respondRequest) functions() (fs []openaiFunction, err error) {
	taken := map[string]bool{}
	for _, t := range in.Tools {
		taken[t.Name] = taken[t.Name] || t.space == "" && !t.left
	}
	in.spaces = map[string]spacedName{}
	for i := range in.Tools {
		t := &in.Tools[i]
		if t.left || t.Type == "mcp" {
			continue
		}
		f := t.openaiFunction
		if t.Type == "custom" {
			if f, err = (&customTool{t.Name, t.Description, t.Format}).function(fmt.Sprintf("tools[%d]", i)); err != nil {
				return nil, err
			}
		}
		if t.space != "" {
			if taken[f.Name] {
				f.Name = t.space + "__" + t.Name
			}
			taken[f.Name] = true
			in.spaces[f.Name] = spacedName{t.space, t.Name}
		}
		fs = append(fs, f)
	}
	in.custom = textTools(fs)
	return fs, nil
}

// offer gives the conversation its tools: functions, and those of MCP servers.
func (in *respondRequest) offer(c *atenia.Conversation, h *hosted) error {
	fs, err := in.functions()
	if err != nil {
		return err
	}
	choice := in.ToolChoice
	if h != nil {
		more, err := h.list(in, fs)
		if err != nil {
			return err
		}
		fs = append(fs, more...)
	}
	if choice.server != "" {
		known, t := h.known(choice.server, choice.name)
		if t == nil {
			return host.Invalid("tool_choice", "tool_choice is the tool %q of %q, which the request's tools do not have", choice.name, choice.server)
		}
		choice.name = known
	}
	choice.name = in.known(choice.space, choice.name)
	for i := range choice.allowed {
		a := &choice.allowed[i]
		a.Name = in.known(a.Space, a.name())
	}
	return choice.into(c, fs, func(known string) (name, server string) {
		if h != nil && h.tools[known] != nil {
			return h.tools[known].name, h.tools[known].server
		}
		return known, ""
	})
}

// check refuses what one answer cannot be made of, and completes the request.
func (in *respondRequest) check(r *host.Request) error {
	if in.N != nil && *in.N != 1 {
		return host.Unsupported("n", "n is %d, want 1: send further requests for further answers", *in.N)
	}
	if err := in.checkStored(); err != nil {
		return err
	}
	if err := in.checkInclude(r); err != nil {
		return err
	}
	if err := in.checkTruncation(); err != nil {
		return err
	}
	return in.unfold(r)
}

func (s *Store) respond(_ http.ResponseWriter, r *host.Request) error {
	in, o, err := s.read(r)
	if err != nil {
		return err
	}
	if o.hosted != nil && in.Receipt != "" {
		return host.Unsupported("receipt", "receipt is of one answer, and tools of MCP servers make several")
	}
	if in.Background {
		return s.background(r, in, o)
	}
	h := o.hosted
	if in.stored() || in.Conversation != nil {
		o.keep = func() { s.keep(r, in, o, nil) }
	}
	if in.Stream {
		events := r.Events(host.Manner{Ping: openaiPing, Fail: o.fail})
		o.send = func(e event) error {
			e["sequence_number"] = o.sequence
			o.sequence++
			if err := events.Event(fmt.Sprint(e["type"]), e); err != nil {
				return host.Gone(err)
			}
			return nil
		}
	}
	err = in.answer(r, o)
	switch {
	case in.Stream:
		return err
	case err != nil && h != nil && h.called: // a status of its own would lose what is told of the call
		p := r.Problem(err)
		r.Log.Warn("answer failed after a call", "status", p.Status, "err", err)
		err = o.fail(p)
	}
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, o.response)
}

// answer answers, with the model and all that the request has for it.
func (in *respondRequest) answer(r *host.Request, o *output) error {
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	pieces, err := newSpeller(l.Model, in.logProbs() > 0)
	if err != nil {
		return err
	}
	c, err := in.whole(l, o)
	if err != nil {
		return err
	}
	if o.hosted != nil {
		o.hosted.l = l
	}
	if err := in.settle(r, l, c, o.hosted); err != nil {
		return err
	}
	return in.turns(r, l, &c, o, pieces)
}

// whole returns what the model is given.
func (in *respondRequest) whole(l *host.Lease, o *output) (atenia.Conversation, error) {
	o.response.Model = l.Info.Name
	c, err := in.conversation(l)
	if err != nil {
		return c, err
	}
	o.response.sampled(&c.Sampling)
	if err := in.offer(&c, o.hosted); err != nil {
		return c, err
	}
	c.Messages, err = in.messages(o.hosted)
	return c, err
}

// turns answers, and calls the tools of MCP servers until the answer has no further calls.
func (in *respondRequest) turns(r *host.Request, l *host.Lease, c *atenia.Conversation, o *output, pieces *speller) error {
	if o.hosted != nil {
		if err := o.hosted.approved(c); err != nil {
			return err
		}
	}
	c.Messages = l.Settle(c.Messages)
	for more := true; more; {
		in.truncate(r, l.Model, c)
		o.answer = openaiAnswer{top: in.TopLogProbs, speller: pieces, custom: in.custom}
		for t, err := range r.Chat(l, *c) {
			if err == nil {
				err = o.take(t)
			}
			if err != nil {
				return err
			}
		}
		more = false
		if o.hosted != nil {
			var err error
			if more, err = o.hosted.next(c, in.most()); err != nil {
				return err
			}
		}
	}
	return o.end()
}
