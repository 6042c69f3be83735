package graph

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzScan compares the scanner with encoding/json, which also accepts invalid
// UTF-8, unpaired surrogates and deeper nesting.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0],"b":{"a":null,"a":true}}`, ` "é\u00e9\ud83d\ude00\n" `, `[[[]]]`, `{"":{}}`, `1e`, `[1,]`, "\"\x01\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, _, err := scanJSON(text)
		if !json.Valid(text) || !utf8.Valid(text) {
			if err == nil {
				t.Fatalf("%q is no JSON", text)
			}
			return
		}
		if err != nil {
			if s := err.Error(); !strings.Contains(s, "escape") && !strings.Contains(s, "deeper") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(t, v, text); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, want %#v", text, got, want)
		}
	})
}

// plain returns the value as encoding/json gives it, and checks positions.
func plain(t *testing.T, v *jsonValue, text []byte) any {
	part := text[v.Off:v.End]
	if !json.Valid(part) || len(strings.TrimSpace(string(part))) != len(part) {
		t.Fatalf("%q stands at %d to %d of %q", part, v.Off, v.End, text)
	}
	switch v.Kind {
	case jsonBool:
		return v.Flag
	case jsonNumber:
		return json.Number(v.Text)
	case jsonString:
		return v.Text
	case jsonArray:
		out := make([]any, len(v.Items))
		for i := range v.Items {
			out[i] = plain(t, &v.Items[i], text)
		}
		return out
	case jsonObject:
		out := map[string]any{}
		for i := range v.Items {
			out[v.Items[i].Key] = plain(t, &v.Items[i], text)
		}
		return out
	}
	return nil
}

// TestManyKeys: a text of one key many times takes linear time, and the last
// value counts.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100000 {
		b.WriteString(`,"k` + strconv.Itoa(i%50000) + `":` + strconv.Itoa(i))
	}
	v, warn, err := scanJSON([]byte("{" + b.String()[1:] + "}"))
	if err != nil || len(v.Items) != 50000 || len(warn) != maxWarnings || v.Get("k7").Text != "50007" {
		t.Errorf("%v, %d warnings", err, len(warn))
	}
}
