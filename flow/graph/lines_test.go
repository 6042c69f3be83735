package graph

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	l := newTextLine(`  gain "two words" -> [1 -2.5e+3]  {"a": [1, " "]} tail`)
	for _, want := range []string{"gain", "two words"} {
		if got, err := l.Word(); got != want || err != nil {
			t.Errorf("%q, want %q: %v", got, want, err)
		}
	}
	if err := l.Want("->"); err != nil || !l.Take("[") {
		t.Error(err)
	}
	n, err := l.Int()
	x, err2 := l.Float()
	if n != 1 || x != -2500 || err != nil || err2 != nil || !l.Take("]") {
		t.Errorf("%d %g %v %v", n, x, err, err2)
	}
	if raw, err := l.JSON(); string(raw) != `{"a": [1, " "]}` || err != nil {
		t.Errorf("%s %v", raw, err)
	}
	if _, err := l.Int(); err == nil || !strings.HasPrefix(err.Error(), "column 51: ") || l.Done() {
		t.Errorf("%v", err)
	}
}

// FuzzQuote: every word survives quoting and reading.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a.b", "a b", `"`, "é", "+x", ":", "a=b", "\x00\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if !utf8.ValidString(word) {
			return
		}
		l := newTextLine("x " + quoteWord(word) + " y")
		var got [3]string
		for i := range got {
			var err error
			if got[i], err = l.Word(); err != nil {
				t.Fatalf("%q as %s: %v", word, quoteWord(word), err)
			}
		}
		if got != [3]string{"x", word, "y"} || !l.Done() {
			t.Fatalf("%q as %s: %q", word, quoteWord(word), got)
		}
	})
}
