package token

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
	"atenia/internal/machine/cpu"
)

// letters are the characters that tell the parts of split patterns apart.
var letters = []rune("aZsSſtTlLdDvVeErRmM'’ \t\n\r\u00a0\u3000x019٣½Ⅷéßǅʰ\u0301\u0903漢字かカー가ㄱไ🚀$+<`|~^_-–!?.,。،()[]{}/\\\u200d\u0000\ufffd<ABZIMGsentinel:>")

func patternText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(24) {
		c := letters[r.IntN(len(letters))]
		for range 1 + r.IntN(4)*r.IntN(2) {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// compileRegex returns the engine for an expression.
func compileRegex(expr string) (matcher, error) {
	re, err := newRegex(expr)
	if err != nil {
		return nil, err
	}
	return re.match, nil
}

func cutBy(s string, m matcher) (out []string) {
	segments(s, m, func(i, j int, match bool) {
		mark := "-"
		if match {
			mark = "+"
		}
		out = append(out, mark+s[i:j])
	})
	return out
}

// sameAsEngine compares a scanner with the engine, which is its specification.
func sameAsEngine(t *testing.T, expr, text string, m, engine matcher) {
	t.Helper()
	if got, want := cutBy(text, m), cutBy(text, engine); !slices.Equal(got, want) {
		t.Fatalf("%s\non %q:\nscanner %q\n engine %q", expr, text, got, want)
	}
}

// draws is how many random texts are tried of each expression.
func draws() int {
	if await.Long() {
		return 10000
	}
	return 1500
}

// TestScanners: every scanner cuts as its own expression does.
func TestScanners(t *testing.T) {
	for expr, m := range scanners {
		engine, err := compileRegex(expr)
		if err != nil {
			t.Error(err)
			continue
		}
		r := rand.New(rand.NewPCG(1, uint64(len(expr))))
		for range draws() {
			sameAsEngine(t, expr, patternText(r), m, engine)
		}
	}
}

// FuzzScanners is TestScanners with texts of the fuzzer.
func FuzzScanners(f *testing.F) {
	engines := map[string]matcher{}
	for expr := range scanners {
		engine, err := compileRegex(expr)
		if err != nil {
			f.Fatal(err)
		}
		engines[expr] = engine
	}
	f.Add("Hello, world's 'LL 12345  \r\n\t x漢字")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\ufffd")
		for expr, m := range scanners {
			sameAsEngine(t, expr, text, m, engines[expr])
		}
	})
}

// FuzzRegex: no expression makes the engine panic, and a match lies in the text.
func FuzzRegex(f *testing.F) {
	for expr := range scanners {
		f.Add(expr, "Hello 123\n")
	}
	for _, expr := range []string{`(?<=a|bc)\d{2,3}?(?!x)`, `(?>a*)b`, `[\w&&[^\d_]]++`, `(?i)k|\p{^Han}{,2}`, `(?m:.)\Z|\bx\B|^y$`, `[[:alpha:]-z]`, `(a*)*b`} {
		f.Add(expr, "aaab12xyz\n")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		m, err := compileRegex(expr)
		if err != nil {
			if _, ok := errors.AsType[*regexError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		if len(text) > 64 {
			text = strings.ToValidUTF8(text[:64], "")
		}
		empty := mayBeEmpty(expr)
		for i := range text {
			if j := m(text, i); j != -1 && (j < i || j > len(text) || j == i && !empty) {
				t.Fatalf("a match of %q in %q from %d to %d", expr, text, i, j)
			}
		}
	})
}

// TestRegexMemory: an expression that backtracks is as fast as others, in a match and
// in a text that it matches nowhere. `x{1,3}` sixty-four times ran for ten minutes.
func TestRegexMemory(t *testing.T) {
	for _, expr := range []string{
		`(a*)*b`, `(a|a)*b`, `(?:a?){64}a{64}b`, `(?=(a+)+b)a`, strings.Repeat(`a{1,3}`, 64) + "b", strings.Repeat(`a*`, 500) + "b",
		"(?:" + strings.Repeat("(?=a*b)|", 100) + "c)", `(?:(?:a*)*(?:a*)*)*b`, `(?>a*)(?:a*+a|a*a)b`, `a+?b`, `(?<=(?:a|aa){20})b`,
	} {
		re, err := newRegex(expr)
		if err != nil {
			t.Fatal(err)
		}
		begin := cpu.Time()
		re.segments(strings.Repeat("a", 2000), func(i, j int, match bool) {
			if match {
				t.Errorf("%s matches", expr)
			}
		})
		if took := cpu.Time() - begin; took > 5*time.Second {
			t.Errorf("%s took %v", expr, took)
		}
	}
}

// TestRegexMarks: what the engine remembers of a text changes no match. Expressions are
// drawn, texts of two letters too; one engine remembers from the first step on, over
// the whole text, the other nothing but where a loop would not end.
func TestRegexMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var draw func(depth int) string
	draw = func(depth int) string {
		if depth == 0 {
			return []string{"a", "b", "[ab]", "a*", "b+", "a?", "[ab]*", "b*+", "a{1,2}", "a*?", `\b`, ""}[r.IntN(12)]
		}
		x, y := draw(depth-1), draw(depth-1)
		return []string{x + y, x + "|" + y, "(?:" + x + ")*", "(?:" + x + "|" + y + ")+", "(?:" + x + ")?" + y, "(?=" + x + ")" + y, "(?!" + x + ")" + y,
			"(?>" + x + ")" + y, "(?:" + x + ")*?" + y, "(?:" + x + "){0,2}" + y, "(?<=a|ba)" + x, "(?<!" + []string{"b", "a?b", "(?=ab)."}[r.IntN(3)] + ")" + x, "(?:" + x + y + ")*b"}[r.IntN(13)]
	}
	exprs := 6000
	if await.Long() {
		exprs = 20000
	}
	tried := 0
	for range exprs {
		expr := draw(1 + r.IntN(3))
		re, err := newRegex(expr)
		if err != nil {
			continue // a{1,2}? means two things
		}
		b := make([]byte, 1+r.IntN(14))
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		text := string(b)
		slow := func(_ string, i int) int {
			m := re.machine(text)
			if !re.empty {
				m.wait = 1 << 20
			}
			return m.at(i)
		}
		want := cutBy(text, slow)
		m := re.machine(text)
		m.wait = 0
		if got := cutBy(text, func(_ string, i int) int { return m.at(i) }); !slices.Equal(got, want) {
			t.Fatalf("%s on %q: %q, want %q", expr, text, got, want)
		}
		tried++
	}
	if tried < exprs*3/4 {
		t.Errorf("%d expressions", tried)
	}
}

func TestRegexRefused(t *testing.T) {
	for expr, want := range map[string]string{
		`(a`: "a group that does not end", `a)`: "nothing opens", `[a`: "does not end", `*`: "a repetition of nothing",
		`(a)\1`: `\1, which is not supported`, `\p{Klingon}`: `unknown property`, `a{2}?`: "understand differently",
		`(?<=a+)b`: "more than 255", `[b-a]`: "a range that is empty", `(?y)`: "unknown group", `a{99999}`: "too large",
		`(?:(?:a{1000}){1000}b){1000}`: "too many repetitions", `(?<=.{0,200}a{0,50}|.{0,200})b`: "take too long", `(?:(?:ab){1000}){1000}`: "too many instructions",
		strings.Repeat("(", 100): "groups in one another", strings.Repeat("[", 100): "classes in one another",
		"a\xff": "not UTF-8", "(?i)ß": "several letters",
	} {
		if _, err := compileRegex(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", expr, err, want)
		}
	}
}

// TestEveryPre: every name has pre-tokenizers, none has two, and the fast ways
// of their expressions agree with the engine.
func TestEveryPre(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range pres {
		for _, name := range p.names {
			if seen[name] {
				t.Errorf("%q stands for two", name)
			}
			seen[name] = true
		}
		p.cut()
	}
	if len(seen) < 91 {
		t.Errorf("%d names", len(seen))
	}
	for expr, all := range runs {
		engine, err := compileRegex(expr)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(2, 3))
		for range draws() {
			long := []int{0, 1, 2, 3, r.IntN(40), 512 + r.IntN(5), r.IntN(1100)}[r.IntN(7)]
			text := patternText(r) + strings.Repeat("7", r.IntN(12)) + patternText(r) + strings.Repeat(" ", long) + patternText(r)
			want := cutBy(text, engine)
			var got []string
			all(text, func(i, j int, match bool) {
				mark := "-"
				if match {
					mark = "+"
				}
				got = append(got, mark+text[i:j])
			})
			if !slices.Equal(got, want) {
				t.Fatalf("%s on %q:\n   got %q\nengine %q", expr, text, got, want)
			}
		}
	}
}
