package grammar

import (
	"regexp"
	"testing"
)

// TestPatterns compares the automata of patterns with Go's regular expressions where both
// mean the same, and with a list of what ECMA-262 says where they do not.
func TestPatterns(t *testing.T) {
	same := []string{"a", "^a", "a$", "^a$", "^(a|b)*$", "a{2,3}", "^a{2}b?$", "(^a|b$)", "^$", "", "a|^b|ab$", "(a|ab)(c|bcd)?", "^(?:a+b)+$", "[^a]", "^[^a-b]$", "(b|)c$", "a*$", "^(a$|b)"}
	var all []string
	for n, from := 0, 0; n < 4; n++ {
		if n == 0 {
			all = append(all, "")
		}
		last := len(all)
		for _, s := range all[from:last] {
			for _, c := range "abc\n" {
				all = append(all, s+string(c))
			}
		}
		from = last
	}
	for _, s := range same {
		d, err := matching(nil, s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		re, not := regexp.MustCompile(s), d.not()
		for _, x := range all {
			if want := re.MatchString(x); d.has(x) != want || not.has(x) == want {
				t.Errorf("%s: %q: %v, complement %v, want %v", s, x, d.has(x), not.has(x), want)
			}
		}
	}
	for _, row := range []struct {
		pattern   string
		good, bad []string
	}{
		{`^\S$`, []string{"é", "a"}, []string{"\u00a0", "\ufeff", " "}},
		{`^\w+$`, []string{"a_0"}, []string{"é", "ſ"}},
		{`^\d$`, []string{"7"}, []string{"٧"}},
		{`^.$`, []string{"é", "🙂"}, []string{"\n", "\r", "\u2028"}},
		{`^\p{L}+$`, []string{"éß"}, []string{"1"}},
		{`^\p{Script=Greek}\u{1F642}\uD83D\uDE42\x41\cJ$`, []string{"α🙂🙂A\n"}, []string{"a🙂🙂A\n"}},
		{`^(?!.*\.\.)[a.]+$`, []string{"a.a", "."}, []string{"a..a", ""}},
		{`^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`, []string{"a.b@c.de", "x@y-z.a.com"}, []string{".a@b.cd", "a..b@c.de", "a.@b.cd", "a@b"}},
		{`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`, []string{"1", "-1.5", ".5"}, []string{"", "-", "+.", "1.5.1"}},
		{`^(?=.*\d)(?=.*[a-z]).{4,}$`, []string{"a123", "1xyz"}, []string{"abcd", "a1", "1234"}},
		{`^a(?!b)`, []string{"a", "ac"}, []string{"ab"}},
		{`[\w-]{2}$`, []string{"a-", "x--"}, []string{"a"}},
		{`^[\]\-a-c]$`, []string{"]", "-", "b"}, []string{"d", `\`}},
		{`^{a}$`, []string{"{a}"}, []string{"a"}},
	} {
		d, err := matching(nil, row.pattern)
		if err != nil {
			t.Errorf("%s: %v", row.pattern, err)
			continue
		}
		for _, x := range row.good {
			if !d.has(x) {
				t.Errorf("%s does not match %q", row.pattern, x)
			}
		}
		for _, x := range row.bad {
			if d.has(x) {
				t.Errorf("%s matches %q", row.pattern, x)
			}
		}
	}
	for _, s := range []string{`(a)\1`, `(?<=a)b`, `\ba`, `(?i)a`, `a**`, `(`, `[a`, `a{3,2}`, `(?:a(?!b))*`, `a*^b`, `\q`, `[b-a]`} {
		if _, err := matching(nil, s); err == nil {
			t.Errorf("%s is no error", s)
		}
	}
}
