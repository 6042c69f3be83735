package atenia

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"atenia/internal/model/text"
)

// AnyTool is the [Conversation].MustCall that leaves the choice of a tool to the model.
const AnyTool = "*"

// force makes the answer to a conversation a call, if it must be one: it sets the schema
// of what the model writes, and returns what follows the prompt, where in that the name
// of a tool stands, and what reads the answer; "" and nil if the model decides.
func (m *Model) force(c *Conversation, prompt string) (begin string, named []int, w *text.Writer, err error) {
	if c.MustCall == "" {
		return "", nil, nil, nil
	}
	tools := c.callable()
	switch {
	case len(tools) == 0:
		return "", nil, nil, &ConfigError{"MustCall", c.MustCall, "AnyTool or the name of one of Tools"}
	case c.Schema != nil || c.Grammar != "":
		return "", nil, nil, &ConfigError{"MustCall", c.MustCall, "no schema or grammar beside it: the call follows its tool's parameters"}
	case c.Raw || c.Continue || c.NoPrompt:
		return "", nil, nil, &ConfigError{"MustCall", c.MustCall, "an answer that is neither raw nor continued, and has a prompt"}
	}
	name := ""
	if len(tools) == 1 {
		name = tools[0].Name
	}
	f := m.text.Answers.Force(prompt, name)
	if f.Arguments {
		c.Schema = parameters(&tools[0])
	} else {
		c.Schema = callSchema(tools, f.Key)
	}
	if f.NameAt > 0 {
		for i := range name {
			named = append(named, f.NameAt+i)
		}
	}
	return f.Begin, named, m.text.Forced(f, schemasOf(tools), newCallID), nil
}

// callable returns the tools of which one must be called.
func (c *Conversation) callable() (tools []Tool) {
	for _, t := range c.Tools {
		if c.MustCall == AnyTool || c.MustCall == t.Name {
			tools = append(tools, t)
		}
	}
	return tools
}

// blame says of which tool a schema is wrong that force made, by pointers into its parameters.
func (c *Conversation) blame(err error) error {
	e, ok := errors.AsType[*GrammarError](err)
	tools := c.callable()
	if !ok || c.MustCall == "" || len(tools) == 0 {
		return err
	}
	told := *e
	told.Tool = AnyTool
	if len(tools) == 1 {
		told.Tool = tools[0].Name
	}
	if len(tools) > 1 || !bytes.Equal(c.Schema, parameters(&tools[0])) {
		// /anyOf/NUMBER/properties/KEY is where the parameters are
		told.Pointer = ""
		if parts := strings.SplitN(e.Pointer, "/", 6); len(parts) >= 5 {
			if i, err := strconv.Atoi(parts[2]); err == nil && i < len(tools) {
				told.Tool = tools[i].Name
			}
			if len(parts) == 6 {
				told.Pointer = "/" + parts[5]
			}
		}
	}
	return &told
}

// parameters returns the schema of a tool's arguments, which are an object.
func parameters(t *Tool) json.RawMessage {
	if t.Parameters == nil {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	var says map[string]json.RawMessage
	if json.Unmarshal(t.Parameters, &says) != nil { // the compiler of schemas says why
		return t.Parameters
	}
	for _, key := range []string{"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"} {
		if says[key] != nil {
			return t.Parameters
		}
	}
	// Without any of these a schema allows values of all types.
	rest := bytes.TrimPrefix(bytes.TrimSpace(t.Parameters), []byte("{"))
	if len(says) > 0 {
		rest = append([]byte(","), rest...)
	}
	return append([]byte(`{"type":"object"`), rest...)
}

// ownRef is a reference within a schema.
var ownRef = regexp.MustCompile(`("\$ref"\s*:\s*"#)`)

// callSchema returns the schema of an object with the name of a tool and, named by key,
// its arguments.
func callSchema(tools []Tool, key string) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"anyOf":[`)
	for i := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(tools[i].Name)
		at := "${1}/anyOf/" + strconv.Itoa(i) + "/properties/" + key
		p := ownRef.ReplaceAll(parameters(&tools[i]), []byte(at))
		b.WriteString(`{"type":"object","properties":{"name":{"const":` + string(name) + `},"` + key + `":`)
		b.Write(p)
		b.WriteString(`},"required":["name","` + key + `"],"additionalProperties":false}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}
