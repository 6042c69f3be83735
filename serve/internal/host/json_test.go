package host

import (
	"strings"
	"testing"
)

type sample struct {
	Model string `json:"model"`
	N     int    `json:"n"`
	Inner []struct {
		Text string `json:"text"`
	} `json:"inner"`
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ body, unknown, err string }{
		{`{"model":"a","n":1}`, "", ""},
		{`{"model":"a","colour":1}`, "colour", ""},
		{`{"inner":[{"text":"a","mood":2}]}`, "mood", ""},
		{`{"n":"x"}`, "", "n is a JSON string at byte 8, want an integer"},
		{`{"inner":[{"text":7}]}`, "", "inner.text is a JSON number at byte 19, want a string"},
		{`{"n":`, "", "the body is not JSON: unexpected end of JSON input at byte 5"},
		{`{"n":1} {}`, "", "the body is not JSON: invalid character '{' after top-level value at byte 9"},
		{`[]`, "", "the body is a JSON array at byte 1, want an object"},
		{"", "", "the body is empty, want a JSON object"},
		{"{\"model\":\"\xff\"}", "", "the body is not valid UTF-8 at byte 10"},
		{strings.Repeat("[", 20000), "", "the body is not JSON: invalid character '[' exceeded max depth at byte 10001"},
	} {
		unknown, err := decode([]byte(c.body), new(sample))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if unknown != c.unknown || got != c.err {
			t.Errorf("%.40s: unknown %q, error %q, want %q and %q", c.body, unknown, got, c.unknown, c.err)
		}
	}
}
