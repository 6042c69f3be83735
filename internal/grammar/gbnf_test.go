package grammar

import (
	"errors"
	"strings"
	"testing"
)

// bytewise compiles a grammar over single bytes.
func bytewise(t testing.TB, g *Grammar) *Automaton {
	t.Helper()
	a, err := NewVocabulary(oneByte(), nil, false).Compile(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ source, yes, no string }{
		{`root ::= "a" | "b"`, "a b", "c ab"},
		{"root ::= \"a\" |\n  \"b\" # or\n", "a b", "ab"},
		{"# first\nroot ::= x{2,3} y?\nx ::= [0-9]\ny ::= [^0-9]", "12 123 12x 12é", "1 1234 12xx"},
		{`root ::= "\x41\u00e9\U0001F600\t\"\\"`, "Aé😀\t\"\\", "A"},
		{`root ::= [\]\[a-]+`, "] [ - a ]a-", "b"},
		{`root ::= . .`, "ab é😀", "a abc"},
		{"root ::= (\n \"a\"\n \"b\" )* \"c\"", "c abc ababc", "ab"},
		{`root ::= "a"{2,} "b"{2}`, "aabb aaaabb", "abb aab"},
		{`root ::= "(" root ")" | ""` + "\n", "() ((()))", "( (()"},
	} {
		g, err := Parse(nil, c.source)
		if err != nil {
			t.Errorf("%q: %v", c.source, err)
			continue
		}
		a := bytewise(t, g)
		sep := func(s string) []string {
			if strings.Contains(c.source, `\t`) {
				return []string{s}
			}
			return strings.Fields(s)
		}
		for _, s := range sep(c.yes) {
			if ok, _ := a.Accepts(s); !ok {
				t.Errorf("%q rejects %q", c.source, s)
			}
		}
		for _, s := range sep(c.no) {
			if ok, _ := a.Accepts(s); ok {
				t.Errorf("%q accepts %q", c.source, s)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		source string
		at     int
		why    string
	}{
		{"", 0, "there is no rule root"},
		{`root = "a"`, 5, "want ::="},
		{`root ::= "a`, 9, "no closing quote"},
		{`root ::= [a`, 9, "no closing bracket"},
		{`root ::= ("a"`, 9, "not closed"},
		{`root ::= x`, 9, "there is no rule x"},
		{`root ::= *`, 9, "repeats nothing"},
		{`root ::= "a"{3,2}`, 12, "3 to 2"},
		{`root ::= "a"{,2}`, 13, "want a number"},
		{`root ::= "\q"`, 10, "unknown escape"},
		{`root ::= "\ud800"`, 10, "no character"},
		{`root ::= [z-a]`, 10, "down to"},
		{"root ::= \"a\"\nroot ::= \"b\"", 13, "twice"},
		{`root ::= root "a"`, 0, "begins with itself"},
		{"root ::= \"x\" a\na ::= b? a \"y\"\nb ::= \"b\"", 15, "begins with itself"},
		{`root ::= "a" root`, 0, "no text that ends"},
		{"root ::= \"\xff\"", 10, "not UTF-8"},
		{`root ::= <think>`, 9, "tokens"},
	} {
		_, err := Parse(nil, c.source)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Offset != c.at || !strings.Contains(e.Why, c.why) {
			t.Errorf("%q: %v, want %q at %d", c.source, err, c.why, c.at)
		}
	}
}

// TestBombs: grammars that would take memory or time without bound are errors.
func TestBombs(t *testing.T) {
	for name, source := range map[string]string{
		"repetitions":        `root ::= ((("a"{999}){999}){999}){999}`,
		"one repetition":     `root ::= "a"{99999999999999999999}`,
		"groups":             "root ::= " + strings.Repeat("(", 1<<18),
		"quantifiers":        `root ::= "a"` + strings.Repeat("*", 1<<18),
		"doubling rules":     "root ::= a a\n" + strings.Repeat("", 1) + `a ::= ("a"{65536}){65536}`,
		"bytes":              strings.Repeat(" ", maxSource+1),
		"ambiguous stacks":   "root ::= a\na ::= \"x\" a \"y\" | \"x\" b \"y\" | \"x\" c \"y\" | \"\"\nb ::= \"x\" a \"y\" | \"x\" b \"y\" \"z\" | \"x\" c \"y\"\nc ::= \"x\" a \"y\" \"w\" | \"x\" b \"y\" | \"x\" c \"y\"\n",
		"exponential subset": `root ::= [ab]* "a" [ab]{4000}`,
	} {
		g, err := Parse(nil, source)
		if err == nil {
			var a *Automaton
			if a, err = NewVocabulary(append(oneByte(), []byte(strings.Repeat("x", 64))), nil, false).Compile(nil, g); err == nil && name == "ambiguous stacks" {
				_, err = a.Accepts(strings.Repeat("x", 64))
			} else if err == nil {
				_, err = a.Accepts(strings.Repeat("ab", 6000))
				if err == nil {
					continue // slow growth is no bomb
				}
			}
		}
		_, limit := errors.AsType[*LimitError](err)
		_, plain := errors.AsType[*Error](err)
		if !limit && !plain {
			t.Errorf("%s: %v", name, err)
		}
	}
}
