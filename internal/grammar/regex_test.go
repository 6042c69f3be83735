package grammar

import (
	"strings"
	"testing"
	"time"
)

// TestFromRegex: a regular expression becomes a grammar of the texts that it matches whole, which is
// the same when it is printed and read.
func TestFromRegex(t *testing.T) {
	for source, texts := range map[string]string{
		`[0-9]{2,4}`:            "12 1234 !1 !12345 !a",
		`(yes|no)(,_\w+)?`:      "yes no no,_indeed !maybe !yes,",
		`a|b`:                   "a b !ab !",
		`\d+\.\d*`:              "1. 1.5 !.5",
		`"[^"]*"`:               `"x" "" !x !""x`,
		`(?=.*\d)[a-z0-9]{3,5}`: "ab1 1abcd !abc !ab1cde",
	} {
		b := NewBudget(t.Context(), time.Minute)
		g, err := FromRegex(b, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		again, err := Parse(NewBudget(t.Context(), time.Minute), g.String())
		if err != nil {
			t.Errorf("%s as GBNF: %v\n%s", source, err, g)
			continue
		}
		for text := range strings.FieldsSeq(texts) {
			text, not := strings.CutPrefix(text, "!")
			for _, g := range []*Grammar{g, again} {
				if got := g.matches(text); got == not {
					t.Errorf("%s admits %q: %v", source, text, got)
				}
			}
		}
	}
	for _, wrong := range []string{"(", `(?<=a)b`, `[b-a]`} {
		if _, err := FromRegex(NewBudget(t.Context(), time.Minute), wrong); err == nil {
			t.Errorf("%s is a regular expression", wrong)
		}
	}
}
