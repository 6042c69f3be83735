package compile

import (
	"errors"
	"math"
	"testing"
)

func TestParse(t *testing.T) {
	m, err := parsePyJSON([]byte(`{"a": Infinity, "b": -Infinity, "c": NaN, "d": "NaN in \"text\" Infinity", "e": {"__float__": "Infinity"}, "f": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]float64{"a": math.Inf(1), "b": math.Inf(-1), "e": math.Inf(1), "f": 3} {
		if got, ok := pyNumber(m[key]); !ok || got != want {
			t.Errorf("%s: %v, %v", key, got, ok)
		}
	}
	if _, ok := pyNumber(m["c"]); ok {
		t.Error("NaN is a number")
	}
	if m["d"] != `NaN in "text" Infinity` {
		t.Errorf("text changed: %q", m["d"])
	}
}

func TestParseErrors(t *testing.T) {
	for text, at := range map[string][2]int{"{\n \"a\": }": {2, 7}, "null": {1, 1}, "{} {}": {1, 4}} {
		_, err := parsePyJSON([]byte(text))
		s, ok := errors.AsType[*pySyntaxError](err)
		if !ok {
			t.Fatalf("%q: %v", text, err)
		}
		if s.Line != at[0] || s.Column < 1 {
			t.Errorf("%q: at %d:%d, want line %d", text, s.Line, s.Column, at[0])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a": 1}`, `{"a": Infinity}`, `{`, `[]`, `{"a": "\u00"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parsePyJSON(b)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v, %v", m, err)
		}
		for _, v := range m {
			pyNumber(v)
		}
	})
}
