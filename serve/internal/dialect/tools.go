package dialect

// Functions that a model may call, and the form that an answer must have.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"atenia"
	"atenia/serve/internal/host"
)

// An openaiCall of a function or of a custom tool, whole or a part of a stream.
type openaiCall struct {
	Index    *int   `json:"index,omitempty"` // of streams
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function,omitzero"`
	Custom *customCall `json:"custom,omitempty"`

	raw string // of a custom tool: the arguments as the model wrote them
}

// A customCall is of a custom tool.
type customCall struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// newOpenAICall returns a call, or a later part of one, which has no name.
func newOpenAICall(id, name, arguments string) *openaiCall {
	c := &openaiCall{}
	c.Function.Name, c.Function.Arguments = name, arguments
	if name != "" {
		c.ID, c.Type = id, "function"
	}
	return c
}

// newCustomCall is newOpenAICall of a custom tool.
func newCustomCall(id, name, input string) *openaiCall {
	c := &openaiCall{Custom: &customCall{name, input}}
	if name != "" {
		c.ID, c.Type = id, "custom"
	}
	return c
}

// name returns that of the tool that is called, "" in a later part.
func (c *openaiCall) name() string {
	if c.Custom != nil {
		return c.Custom.Name
	}
	return c.Function.Name
}

// rest moves what a first part says of the arguments to a part of its own: clients begin a call
// with its name, and add what follows. nil = it says nothing of them.
func (c *openaiCall) rest() (more *openaiCall) {
	switch {
	case c.name() == "":
	case c.Custom != nil && c.Custom.Input != "":
		more = newCustomCall("", "", c.Custom.Input)
		c.Custom = &customCall{Name: c.Custom.Name}
	case c.Custom == nil && c.Function.Arguments != "":
		more = newOpenAICall("", "", c.Function.Arguments)
		c.Function.Arguments = ""
	}
	if more != nil {
		more.Index = c.Index
	}
	return more
}

// An openaiTool is a function, or takes a text.
type openaiTool struct {
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
	Custom   customTool     `json:"custom"`

	left bool // out of the request
}

// function returns what the model is told of the tool.
func (t *openaiTool) function(at string) (openaiFunction, error) {
	if t.Type == "custom" {
		return t.Custom.function(at)
	}
	return t.Function, nil
}

// An openaiFunction is what a tool of chat has, and a tool of responses is.
type openaiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`

	text bool // it stands for a custom tool
}

func (f *openaiFunction) tool(at string) (atenia.Tool, error) {
	if f.Name == "" {
		return atenia.Tool{}, host.Invalid(at, "%s has no name", at)
	}
	if string(f.Parameters) == "null" {
		f.Parameters = nil
	}
	if !host.IsObject(f.Parameters) {
		return atenia.Tool{}, host.Invalid(at, "the parameters of %s are no JSON object", at)
	}
	return atenia.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters}, nil
}

// A toolChoice of tools: "none", "auto", "required", or the name of one, which of responses may be
// of an MCP server; and of which tools.
type toolChoice struct {
	mode, name, server, space string
	allowed                   []chosen // nil = all
}

// A chosen tool is named by a choice.
type chosen struct {
	Type     string `json:"type"`
	Name     string `json:"name"`         // of responses
	Label    string `json:"server_label"` // of responses
	Space    string `json:"namespace"`    // of responses
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Custom struct {
		Name string `json:"name"`
	} `json:"custom"`
}

// name returns that of a function or of a custom tool.
func (c *chosen) name() string { return cmp.Or(c.Function.Name, c.Custom.Name, c.Name) }

// An allowance is the choice among some of the tools.
type allowance struct {
	Mode  string   `json:"mode"`
	Tools []chosen `json:"tools"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *toolChoice) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.mode)
	}
	if string(b) == "null" {
		return nil
	}
	var o struct {
		chosen
		allowance            // of responses
		Allowed   *allowance `json:"allowed_tools"` // of chat
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o.Type == "allowed_tools" {
		if o.Allowed == nil {
			o.Allowed = &o.allowance
		}
		if c.mode, c.allowed = o.Allowed.Mode, o.Allowed.Tools; c.mode != "auto" && c.mode != "required" {
			return host.Invalid("tool_choice", "the mode of tool_choice is %q, want auto or required", c.mode)
		}
		if c.allowed == nil {
			c.allowed = []chosen{}
		}
		return nil
	}
	c.mode, c.name, c.space = "named", o.name(), o.Space
	if o.Type == "mcp" && c.name != "" && o.Label != "" {
		c.server = o.Label
		return nil
	}
	if o.Type != "function" && o.Type != "custom" || c.name == "" {
		return host.Unsupported("tool_choice", "tool_choice is an object of type %q, want a function or a custom tool with a name, or allowed_tools", o.Type)
	}
	return nil
}

// allows reports whether a choice leaves a tool, by its name and that of its MCP server.
func (c *toolChoice) allows(name, server string) bool {
	return c.allowed == nil || slices.ContainsFunc(c.allowed, func(a chosen) bool {
		if a.Type == "mcp" {
			return server != "" && a.Label == server && (a.name() == "" || a.name() == name)
		}
		return server == "" && a.name() == name
	})
}

// into gives a conversation the tools that a choice leaves, and says which of them must
// be called. server returns the MCP server of a function and its name there; nil = there is none.
func (c toolChoice) into(to *atenia.Conversation, fs []openaiFunction, server func(string) (name, server string)) error {
	found := false
	for i := range fs {
		t, err := fs[i].tool(fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return err
		}
		name, of := t.Name, ""
		if server != nil {
			name, of = server(t.Name)
		}
		if !c.allows(name, of) {
			continue
		}
		found = found || t.Name == c.name
		to.Tools = append(to.Tools, t)
	}
	for _, a := range c.allowed {
		known := slices.ContainsFunc(fs, func(f openaiFunction) bool { return f.Name == a.name() })
		if (a.Type == "function" || a.Type == "custom") && !known {
			return host.Invalid("tool_choice", "tool_choice allows the tool %q, which is not in tools", a.name())
		}
	}
	switch c.mode {
	case "", "auto":
		return nil
	case "none":
		to.Tools = nil
		return nil
	case "required":
		if to.MustCall = atenia.AnyTool; len(to.Tools) > 0 {
			return nil
		}
	case "named":
		if to.MustCall = c.name; found {
			return nil
		}
		return host.Invalid("tool_choice", "tool_choice is the tool %q, which is not in tools", c.name)
	}
	return host.Invalid("tool_choice", "tool_choice is %q, want none, auto, required with tools, or a tool", c.mode)
}

// A responseFormat is text, any JSON object, or JSON of a schema.
type responseFormat struct {
	Type   string          `json:"type"`
	Schema *responseSchema `json:"json_schema"`
	// Of the types "grammar" and "regex", which other servers have.
	Grammar string `json:"grammar"`
	Regex   string `json:"regex"`
	Pattern string `json:"pattern"`
}

// A responseSchema has a name and the JSON Schema itself.
type responseSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

// constrain makes answers have the format.
func (f *responseFormat) constrain(o *atenia.Options, at string) error {
	if f == nil || f.Type == "text" || f.Type == "" {
		return nil
	}
	switch {
	case f.Type == "grammar" && f.Grammar != "":
		o.Grammar = f.Grammar
	case f.Type == "regex" && cmp.Or(f.Regex, f.Pattern) != "":
		return (&answerForm{name: at, regex: cmp.Or(f.Regex, f.Pattern)}).into(o, "")
	case f.Type == "json_object":
		o.Schema = json.RawMessage(`{"type":"object"}`)
	case f.Type != "json_schema":
		return host.Unsupported(at, "%s is of type %q, want text, json_object, json_schema, grammar or regex", at, f.Type)
	case f.Schema == nil || len(f.Schema.Schema) == 0:
		return host.Invalid(at, "%s has no schema", at)
	default:
		o.Schema = f.Schema.Schema
	}
	return nil
}
