package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzRecord: whatever a file has is a record that is written as it was read, or an error that
// says where.
func FuzzRecord(f *testing.F) {
	id := "resp_" + strings.Repeat("0a", 16)
	whole := &record{
		id: id, owner: "me", parent: "resp_" + strings.Repeat("1b", 16), head: json.RawMessage(`{"id":"x","status":"in_progress"}`),
		input: []json.RawMessage{[]byte(`{"type":"message","content":"\u003c"}`)}, output: []json.RawMessage{[]byte(`{}`), []byte(`{"a":[1,{}]}`)},
	}
	b, err := whole.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add(append(bytes.Clone(b), "{}\n"...))
	f.Add(append(bytes.Clone(b), "{}"...))
	f.Add(bytes.Replace(b, []byte(`"input_items":1`), []byte(`"input_items":-1`), 1))
	f.Add(bytes.Replace(b, []byte(`{}`), []byte(strings.Repeat("[", 100)), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeRecord(id, b)
		if err != nil {
			e, ok := errors.AsType[*recordError](err)
			if !ok || e.Offset < 0 || e.Offset > len(b) {
				t.Fatalf("%v (%T)", err, err)
			}
			return
		}
		if n := len(c.items()) + 1; bytes.Count(b, []byte("\n")) != n || !bytes.HasSuffix(b, []byte("}\n")) {
			t.Errorf("%d lines of %q", n, b)
		}
		_ = c.interrupted() // a record whose head cannot be read is no panic
		again, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		d, err := decodeRecord(id, again)
		if err != nil || d.parent != c.parent || d.owner != c.owner || len(d.input) != len(c.input) || len(d.output) != len(c.output) {
			t.Fatalf("%v: %+v became %+v", err, c, d)
		}
		for i, e := range c.items() {
			if !bytes.Equal(e, d.items()[i]) {
				t.Errorf("item %d: %s became %s", i, e, d.items()[i])
			}
			_ = idOf(e)
		}
	})
}
