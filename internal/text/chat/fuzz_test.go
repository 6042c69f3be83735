package chat

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden"
)

// seeds are templates of every shape, the reference cases among them.
func seeds(f *testing.F) {
	data, err := os.ReadFile(filepath.Join(golden.Family(f, "chat"), "cases.json"))
	if err != nil {
		f.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range v.(*List).Items {
		if s, _ := c.(*Map).Get("template"); len(s.(string)) < 600 {
			f.Add(s.(string))
		}
	}
	for _, h := range slices.Concat(hostile, growing) {
		if len(h.template) < 2000 { // the longer ones have a test of their own
			f.Add(h.template)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := Parse("fuzz", s); err != nil && kindOf(err) != "syntax" {
			t.Fatalf("untyped error %v", err)
		}
	})
}

func FuzzRender(f *testing.F) {
	seeds(f)
	messages, err := DecodeJSON([]byte(`[{"role": "user", "content": "Grüße"}, {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]}]`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := &Context{
			Messages: messages, Now: goldenNow, Vars: NewMap("s", "Hello World", "n", int64(7), "xs", NewList(int64(3), "b", nil), "d", NewMap("b", int64(1), "a", 2.0)),
			Limits: Limits{Steps: 100_000, Bytes: 4 << 20, Output: 1 << 20, Calls: 50},
		}
		r, err := render("fuzz", s, c)
		if kindOf(err) == "untyped" {
			t.Fatalf("untyped error %v", err)
		}
		if len(r.Text) > 1<<20 {
			t.Fatalf("%d bytes of output", len(r.Text))
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.0, -3e5, "x", null, true], "a": {}}`, `[[[[`, `{"a"`, `1 2`, `"\ud800"`, `123456789012345678901234567890`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeJSON(b)
		if err != nil {
			return
		}
		if _, err := render("fuzz", "{{ v | tojson }}{{ v }}", &Context{Vars: NewMap("v", v)}); err != nil && kindOf(err) != "runtime" {
			t.Fatal(err)
		}
	})
}
