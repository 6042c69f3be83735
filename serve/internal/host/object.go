package host

// Arguments of calls, which every dialect wants to be objects.

import "encoding/json"

// IsObject reports whether b is a JSON object; nothing stands for an empty one.
func IsObject(b json.RawMessage) bool {
	var o map[string]json.RawMessage
	return len(b) == 0 || json.Unmarshal(b, &o) == nil && o != nil
}

// Object returns the arguments that a model wrote as an object. What is none is wrapped in
// one, as Anthropic's guide to fine-grained streaming of tools asks its clients to do.
func Object(text string) json.RawMessage {
	switch b := json.RawMessage(text); {
	case text == "":
		return json.RawMessage("{}")
	case IsObject(b):
		return b
	}
	wrapped, _ := json.Marshal(map[string]string{"INVALID_JSON": text}) // of strings alone
	return wrapped
}
