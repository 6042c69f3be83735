package dialect

// response_format: the form that an answer must have.

import (
	"encoding/json"

	"atenia"
	"atenia/serve/internal/host"
)

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
