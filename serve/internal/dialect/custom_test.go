package dialect

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzCustomInput: the text of a custom tool's call is the same in pieces as it is whole, however the
// arguments are written and cut; pieces are characters that are whole.
func FuzzCustomInput(f *testing.F) {
	for _, text := range []string{`{"input":"a"}`, `{ "input" : "\ud83d\ude00 \u00e9\n\"\\ é" }`, `{"input":"\ud83d x"}`, `{"input":1}`, `{"other":"a","input":"b"}`, `{"input":"`, `{"input":"\u00`, "{\"input\":\"\xff\"}"} {
		f.Add(text, 1)
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, arguments string, step int) {
		step = max(1, min(step, 64))
		var x inputReader
		var pieces strings.Builder
		for i := 0; i < len(arguments); i += step {
			piece := x.add(arguments[i:min(i+step, len(arguments))])
			if !utf8.ValidString(piece) {
				t.Fatalf("%q: the piece %q", arguments, piece)
			}
			pieces.WriteString(piece)
		}
		whole := customInput(arguments)
		var o map[string]json.RawMessage
		if json.Unmarshal([]byte(arguments), &o) != nil || x.at == 0 || len(o) != 1 {
			return // what a model that follows the schema does not write
		}
		if pieces.String() != whole {
			t.Errorf("%q in steps of %d: %q, whole %q", arguments, step, pieces.String(), whole)
		}
	})
}
