package file

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Unmarshal is [json.Unmarshal] into a struct, for files that Python programs read:
// keys match exactly. The standard library would take TEMPERATURE for temperature,
// which no other program does.
func Unmarshal(b []byte, v any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	known := map[string]json.RawMessage{}
	t := reflect.TypeOf(v).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" {
			name = t.Field(i).Name
		}
		if raw, ok := all[name]; ok {
			known[name] = raw
		}
	}
	b, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
