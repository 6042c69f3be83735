package dialect

// Functions that a model may call, and the form that an answer must have.

import (
	"encoding/json"
	"fmt"

	"atenia"
	"atenia/serve/internal/host"
)

// An openaiCall of a function, whole or a part of a stream.
type openaiCall struct {
	Index    *int   `json:"index,omitempty"` // of streams
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
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

// An openaiTool is a function.
type openaiTool struct {
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
}

// An openaiFunction is what a tool of chat has, and a tool of responses is.
type openaiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
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
// of an MCP server.
type toolChoice struct{ mode, name, server string }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *toolChoice) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.mode)
	}
	if string(b) == "null" {
		return nil
	}
	var o struct {
		Type     string `json:"type"`
		Name     string `json:"name"`         // of responses
		Label    string `json:"server_label"` // of responses
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	c.mode, c.name = "named", o.Name
	if o.Function.Name != "" {
		c.name = o.Function.Name
	}
	if o.Type == "mcp" && c.name != "" && o.Label != "" {
		c.server = o.Label
		return nil
	}
	if o.Type != "function" || c.name == "" {
		return host.Unsupported("tool_choice", "tool_choice is an object of type %q, want a function with a name", o.Type)
	}
	return nil
}

// into gives a conversation the tools that a choice leaves, and says which of them must
// be called.
func (c toolChoice) into(to *atenia.Conversation, fs []openaiFunction) error {
	found := false
	for i := range fs {
		t, err := fs[i].tool(fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return err
		}
		found = found || t.Name == c.name
		to.Tools = append(to.Tools, t)
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
		return host.Invalid("tool_choice", "tool_choice is the function %q, which is not in tools", c.name)
	}
	return host.Invalid("tool_choice", "tool_choice is %q, want none, auto, required with tools, or a function", c.mode)
}

// A responseFormat is text, any JSON object, or JSON of a schema.
type responseFormat struct {
	Type   string          `json:"type"`
	Schema *responseSchema `json:"json_schema"`
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
	case f.Type == "json_object":
		o.Schema = json.RawMessage(`{"type":"object"}`)
	case f.Type != "json_schema":
		return host.Unsupported(at, "%s is of type %q, want text, json_object or json_schema", at, f.Type)
	case f.Schema == nil || len(f.Schema.Schema) == 0:
		return host.Invalid(at, "%s has no schema", at)
	default:
		o.Schema = f.Schema.Schema
	}
	return nil
}
