package openai

// response_format: the form that an answer must have.

import (
	"encoding/json"

	"atenia"
	"atenia/serve/internal/host"
)

// A format is text, any JSON object, or JSON of a schema.
type format struct {
	Type   string  `json:"type"`
	Schema *schema `json:"json_schema"`
}

// A schema has a name and the JSON Schema itself.
type schema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

// constrain makes answers have the format.
func (f *format) constrain(o *atenia.Options, at string) error {
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
