package toml

import (
	"strings"
	"testing"
)

// FuzzDecode: no text panics, and what is accepted is within the bounds.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a = 1\n[b]\nc = \"d\" # e\n[[f.g]]\nh = { i = [1, 2] }\n"))
	f.Add([]byte(strings.Repeat("[", 20)))
	f.Add([]byte("a.b.c.d.e.f.g.h.i = 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var into map[string]any
		if _, err := Decode(b, &into); err == nil && len(b) > Most {
			t.Errorf("%d bytes are accepted", len(b))
		}
	})
}

// TestDecode: keys without a place are told, as are the lines of faults.
func TestDecode(t *testing.T) {
	var v struct{ A int }
	defined, unknown, err := DecodeDefined([]byte("a = 3\n[b]\nc = 1\n"), &v)
	if err != nil || v.A != 3 || !defined("a") || defined("x") || len(unknown) != 2 || strings.Join(unknown[1], ".") != "b.c" {
		t.Errorf("%+v, %v, %v", v, unknown, err)
	}
	for text, want := range map[string]string{"a = 1\nb = = 2": "line 2: ", "a = \"x\"": "incompatible types", "a = 1\n" + strings.Repeat("[", 9): "line 2: more than 8 brackets"} {
		if _, err := Decode([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
