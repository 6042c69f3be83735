package host

import (
	"atenia/internal/golden/await"
	"bytes"
	"encoding/json"
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
		{strings.Repeat("[", 20000), "", "lists and objects are nested more than 64 deep at byte 64 of the body"},
		{`{"n":1,"colour":{},"model":2}`, "", "model is a JSON number at byte 28, want a string"}, // behind an unknown field
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

// TestSurvey: what costs much more than its bytes is refused before it is decoded, with
// its place; what people send is not.
func TestSurvey(t *testing.T) {
	list := func(field, element string, n int) string {
		return `{"` + field + `":[` + strings.Repeat(element+",", n-1) + element + "]}"
	}
	for _, c := range []struct{ body, err string }{
		{list("messages", "{}", 4096), ""},
		{list("messages", "{}", 4097), "messages has at most 4096 elements, here are more (byte 12301 of the body)"},
		{list("messages", `[]`, 4097), "messages has at most 4096 elements"},
		{list("messages", ` null `, 4097), "messages has at most 4096 elements"},
		{list("x", "true", 4097), "x has at most 4096 elements"},
		{list("input", `"a"`, 2048), ""},
		{list("input", `"a"`, 2049), "input has at most 2048 elements"},
		{list("prompt", "[1, 2,3]", 2049), "prompt has at most 2048 elements"},
		{list("documents", `"]"`, 2049), "documents has at most 2048 elements"},
		{list("prompt", "1", 100000), ""}, // tokens
		{list("prompt", "-1.5e+3", 100000), ""},
		{list("messages", "1", 4097), "messages has at most 4096 elements"},
		{list("messages", "[1,-2.5e-3]", 4096), ""},
		{`{"chat_template_kwargs":` + list("x", "1", 4097) + "}", "x has at most 4096 elements"},
		{list("tokens", "1", 1<<20), ""},
		{list("tokens", "1", 1<<20+1), "there are more than 1048576 tokens (byte 2097163 of the body)"},
		{list("input", "["+strings.Repeat("1,", 2000)+"1]", 1000), "there are more than 1048576 tokens"},
		{`{"x":{` + strings.Repeat(`"a":1,`, 1<<18) + `"b":1}}`, "the body has more than 262144 values"},
		{`{"x":[` + strings.TrimSuffix(strings.Repeat("["+strings.Repeat("1,", 100)+"1],", 4000), ",") + `]}`, "the body has more than 262144 values"},
		{list("stop", `"\\\""`, 65), "stop has at most 64 elements"},
		{list("tools", "{}", 257), "tools has at most 256 elements"},
		{`{"messages":[` + strings.TrimSuffix(strings.Repeat(list("content", "{}", 100)+",", 1000), ",") + `]}`, "the body has more than 65536 objects"},
		{strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), ""},
		{strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), "nested more than 64 deep"},
		{`{"x":{` + list("tokens", "1", 5000)[1:] + "}", "tokens has at most 4096 elements"}, // those of a body are its own fields
		{list("St\u006fP", `""`, 65), "stop has at most 64 elements"},                        // as the decoder reads it
		{list("\u017ftop", `""`, 65), "stop has at most 64 elements"},
		{`{"arguments":"{\"a\":[` + strings.Repeat("1,", mostValues-3) + `1]}"}`, ""}, {`{"arguments":"{\"stop\":[` + strings.Repeat("1,", mostValues-2) + `1]}"}`, "more than 262144 values, at byte 524293 of the arguments at byte 13 of the body"},
		{`{"a":{"arguments":"` + strings.Repeat("[", 62) + `"}}`, ""}, {`{"a":{"arguments":"` + strings.Repeat("[", 63) + `"}}`, "nested more than 64 deep at byte 62"},
		{`{"x":[` + strings.Repeat(`{"arguments":"`+strings.Repeat("{}", 20)+`"},`, 4000) + `1]}`, "more than 65536 objects"},
		{`{"a":[{"arguments":"{\"arguments\":\"[[[\"}"}]}`, ""}, // which nobody decodes
		{`{"stop":"` + strings.Repeat("a", MostStopBytes) + `"}`, ""}, {`{"stop":"` + strings.Repeat("a", MostStopBytes+1) + `"}`, "stop has a text of 4097 bytes"},
		{`{"a":{"a":{"a":{"stop":"` + strings.Repeat("a", MostStopBytes+1) + `"}}}}`, ""}, // an argument
		{list("enum", `"a"`, 20000), ""},
		{`{"a":"` + strings.Repeat("[{,", 9999) + `","messages":[]}`, ""}, // in a text
		{"]]]][[[", ""}, {`"`, ""}, {`{"a`, ""}, {`{"a\`, ""}, {"[tru", ""}, // no JSON is the decoder's
	} {
		err := Survey([]byte(c.body))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.40s: %v, want %q", c.body, err, c.err)
		}
	}
	body := []byte(list("messages", `{"role":"user","content":"x"}`, 4000))
	if n := await.Allocs(5, func() { _ = Survey(body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzSurvey: no bytes are too odd to be looked at, and a value with a list that is too
// long is refused however it is written.
func FuzzSurvey(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":["a",null,true,-1.5e3]}],"stop":["\\\""]}`))
	f.Add([]byte(`[[[{}]],"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Survey(b)
		var v any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		many := append(append([]byte("["), bytes.Repeat(append(append([]byte{}, b...), ','), mostMessages)...), b...)
		if err := Survey(append(many, ']')); err == nil {
			t.Errorf("%d times %q: %v", mostMessages+1, b, err)
		}
	})
}
