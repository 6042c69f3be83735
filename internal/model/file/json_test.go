package file

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// The scanner accepts the same texts as the standard decoder, except for deep
// nesting and invalid UTF-8.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a": [1, -0.5e+3, true, false, null, "\u00e9\\\"/\b"], "b": {}}`, `[1,]`, `{"a":1,}`, `01`, `1.`, `.5`, `1e`, `+1`, `-`, `--1`,
		`"\ud800"`, `"\x"`, "\"\x01\"", "\"\x7f\"", `nul`, `nulll`, `true false`, ` `, ``, `"`, `{`, `[`, `{"a"`, `{"a":`, `{1:2}`, "\ufeff{}", "[\v1]", "\x00",
		`Infinity`, `[NaN]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{file: "fuzz", b: b, text: true}
		err := s.skip(0)
		if err == nil {
			err = s.end()
		}
		if want := json.Valid(b) && utf8.Valid(b); want != (err == nil) && !strings.Contains(string(b), strings.Repeat("[", 50)) && strings.Count(string(b), "{") < 50 {
			t.Errorf("%q: want valid %v, got %v", b, want, err)
		}
		if err == nil {
			if err := CheckJSON("fuzz", b); err != nil {
				t.Errorf("%q: loose is stricter: %v", b, err)
			}
			return
		}
		fe, ok := errors.AsType[*FormatError](err)
		if !ok || fe.Line < 1 || fe.Column < 1 {
			t.Errorf("%q: %T without a place: %v", b, err, err)
		}
	})
}

func TestLooseJSON(t *testing.T) {
	for s, place := range map[string]string{
		`{"time_step_limit": [0.0, Infinity], "x": [-Infinity, NaN]}`: "",
		`{"x": -infinity}`:     "c:1:8",
		"{\n\n\"x\": Infinit}": "c:3:6",
		`{"x": 1}}`:            "c:1:9",
	} {
		err := CheckJSON("c", []byte(s))
		if place == "" && err != nil || place != "" && (err == nil || !strings.HasPrefix(err.Error(), place+": ")) {
			t.Errorf("%s: want fault at %q, got %v", s, place, err)
		}
	}
}
