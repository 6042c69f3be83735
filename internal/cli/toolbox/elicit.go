package toolbox

// Elicitation: a server asks the user for values while one of its tools runs.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a form, beyond which it is declined.
const (
	mostFields = 32
	mostField  = 512 // bytes of what is shown of one
)

// options returns the options of a client: it can be asked if the person can.
func (p Person) options(server string) *sdk.ClientOptions {
	o := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}} // no roots: a server sees no folders
	if p.Ask != nil {
		o.ElicitationHandler = func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return p.elicit(ctx, server, r.Params)
		}
	}
	return o
}

// A field is what a form asks for: a string, a number, a boolean, or one of several.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Default     any      `json:"default"`
	Enum        []string `json:"enum"`
	OneOf       []option `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
	} `json:"items"`
}

type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// elicit asks for each field of a form. An empty line is its default; the end of input
// cancels the form.
func (p Person) elicit(ctx context.Context, server string, q *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if q.Mode != "" && q.Mode != "form" {
		return &sdk.ElicitResult{Action: "decline"}, nil // a page of the server's choice is not opened
	}
	var form struct {
		Properties map[string]field `json:"properties"`
	}
	b, err := json.Marshal(q.RequestedSchema)
	if err == nil {
		err = json.Unmarshal(b, &form)
	}
	if err != nil || len(form.Properties) > mostFields {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	line, err := p.Ask(ctx, fmt.Sprintf("%s asks: %s - answer? y, n: ", server, Visible(cut(q.Message))))
	if err != nil {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	if a := strings.ToLower(strings.TrimSpace(line)); a != "y" && a != "yes" {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	content := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		v, err := p.field(ctx, name, form.Properties[name])
		if err != nil {
			return &sdk.ElicitResult{Action: "cancel"}, nil
		}
		if v != nil {
			content[name] = v
		}
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// field asks for one value until it is of its type. No value is nil.
func (p Person) field(ctx context.Context, name string, f field) (any, error) {
	prompt := name
	for _, s := range []string{f.Title, f.Description} {
		if s != "" {
			prompt += ", " + s
		}
	}
	if c := f.choices(); len(c) > 0 {
		prompt += " (" + strings.Join(c, ", ") + ")"
	}
	if f.Default != nil {
		prompt += fmt.Sprintf(" [%v]", f.Default)
	}
	for {
		line, err := p.Ask(ctx, Visible(cut(prompt))+": ")
		if err != nil {
			return nil, err
		}
		if line == "" {
			return f.Default, nil
		}
		if v, err := f.parse(line); err == nil {
			return v, nil
		}
	}
}

// choices are the values that there are, nil = any.
func (f field) choices() []string {
	c := slices.Concat(f.Enum, f.Items.Enum)
	for _, o := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		c = append(c, o.Const)
	}
	return c
}

var errNoValue = errors.New("no value of its type")

func (f field) parse(line string) (any, error) {
	one := func(s string) (string, error) {
		if c := f.choices(); len(c) > 0 && !slices.Contains(c, s) {
			return "", errNoValue
		}
		return s, nil
	}
	switch f.Type {
	case "boolean":
		return strconv.ParseBool(line)
	case "integer":
		return strconv.ParseInt(line, 10, 64)
	case "number":
		return strconv.ParseFloat(line, 64)
	case "array":
		var all []string
		for s := range strings.SplitSeq(line, ",") {
			v, err := one(strings.TrimSpace(s))
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}
	return one(line)
}

func cut(s string) string {
	if len(s) > mostField {
		return strings.ToValidUTF8(s[:mostField], "") + "…"
	}
	return s
}
