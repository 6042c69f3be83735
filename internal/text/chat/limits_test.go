package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
)

// hostile templates try to hang, to eat memory or to overflow the stack.
var hostile = []struct{ name, template string }{
	{"loops", "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"},
	{"doubling string", "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"},
	{"doubling list", "{% set ns = namespace(s=[1, 2]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
	{"repeat", "{{ 'x' * 1000000000000 }}"},
	{"repeat list", "{{ [0] * 99999999999 }}"},
	{"power", "{{ 10 ** 10 ** 10 }}"},
	{"squares", "{% set ns = namespace(x=3) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}"},
	{"width", "{{ '%1000000000d' % 1 }}"},
	{"widths", "{{ ('%99999d' * 100000) % ([1] * 100000) }}"},
	{"spec", "{{ '{:1000000000}'.format(1) }}"},
	{"center", "{{ 'x' | center(99999999999) }}"},
	{"indent", "{{ ('a\n' * 100000) | indent(90000) }}"},
	{"replace", "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}"},
	{"join", "{{ range(100000) | join('x' * 100000) }}"},
	{"recursion", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"},
	{"mutual", "{% macro f(x) %}{{ g(x) }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"},
	{"recursive loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
	{"self", "{% block a %}{{ self.a() }}{% endblock %}"},
	{"nested value", "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}"},
	{"shared value", "{% set ns = namespace(x=[1, 1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"},
	{"shared json", "{% set ns = namespace(x=[1, 1]) %}{% for i in range(60) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x | tojson }}"},
	{"shared equality", "{% set a = namespace(x=[1]) %}{% set b = namespace(x=[1]) %}{% for i in range(60) %}{% set a.x = [a.x, a.x] %}{% set b.x = [b.x, b.x] %}{% endfor %}{{ a.x == b.x }}"},
	{"shared key", "{% set ns = namespace(x=(1, 1)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}"},
	{"product of lists", "{{ range(100000) | map('string') | map('list') | map('length') | sum }}{% for i in range(1000) %}{{ range(100000) | list | length }}{% endfor %}"},
	{"self reference", "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}"},
	{"lazy chain", "{% set ns = namespace(x=[1]) %}{% for i in range(90000) %}{% set ns.x = ns.x | select %}{% endfor %}{{ ns.x | list }}"},
	{"lazy self", "{% set ns = namespace(x=[1]) %}{% for i in range(90000) %}{% set ns.x = ns.x | map('string') %}{% endfor %}{{ ns.x | first }}"},
	{"deep subscripts", "{{ x" + strings.Repeat(".a", 100000) + " }}"},
	{"deep sums", "{{ 1" + strings.Repeat("+1", 100000) + " }}"},
	{"deep parentheses", "{{ " + strings.Repeat("(", 100000)},
	{"deep not", "{{ " + strings.Repeat("not ", 100000) + " x }}"},
	{"deep minus", "{{ " + strings.Repeat("-", 100000) + " x }}"},
	{"deep if", strings.Repeat("{% if x %}", 100000)},
	{"many if", strings.Repeat("{% if x %}{% set y = 1 %}{% endif %}", 20000)},
	{"many names", manyNames(2000)},
	{"many strings", "{{ " + strings.Repeat("'a' ", 200000) + " }}"},
	{"long number", "{{ " + strings.Repeat("9", 200000) + " }}"},
	{"wide set", "{% set " + strings.Repeat("a, ", 100000) + " = x %}"},
	{"time", "{{ strftime_now('%99999d' * 100000) }}"},
	{"int of digits", "{{ ('9' * 1000000) | int }}{{ ('9' * 1000000) | float }}"},
	{"strip", "{{ ('x' * 1000000).strip('y' * 1000000 ~ 'x') }}"},
	{"wordwrap", "{{ ('x' * 1000000) | wordwrap(1) | length }}"},
	{"striptags", "{{ ('<' * 1000000) | striptags | length }}"},
	{"sort", "{{ (range(100000) | list * 10) | sort | length }}"},
	{"splits", "{% for i in range(100000) %}{{ ('a ' * 100000).split() | length }}{% endfor %}"},
	{"wrap separator", "{{ ('x' * 100000) | wordwrap(1, true, 'y' * 20000) }}"},
	{"grouped zeros", "{% for i in range(100000) %}{{ '{:099999,}'.format(1) | length }}{% endfor %}"},
	{"lazy self reference", "{% set ns = namespace() %}{% set ns.g = ([ns] * 1000000) | map(attribute='g') | map('list') %}{{ ns.g | list }}"},
	{"many parameters", "{% macro f(" + numbered(20000, "p%d,") + "z) %}{% endmacro %}"},
	{"many keywords", "{{ f(" + numbered(20000, "p%d=1,") + ") }}"},
	{"keywords of macros", "{% macro f(" + numbered(900, "p%d=1,") + "z=1) %}{% endmacro %}" + forever + "{{ f(" + numbered(900, "p%d=i,") + ") }}" + ends},
	{"wide scope", forever + "{% if false %}" + numbered(20000, "{%% set v%d = 1 %%}") + "{% endif %}" + ends},
	{"deep branches", strings.Repeat("{% if x %}", 190) + numbered(8000, "{%% set v%d = 1 %%}") + strings.Repeat("{% endif %}", 190)},
	{"texts in a key", "{{ {('x' * 500000,) * 4000: 1} }}"},
	{"long keys", "{% set t = (1,) * 4000 %}{% set d = {} %}" + forever + "{% if d[t] %}{% endif %}" + ends},
	{"big quotient", "{% set a = 3 ** 41000 %}{% set b = 3 ** 20000 %}" + forever + "{% if a // b %}{% endif %}" + ends},
	{"big product", "{% set b = 3 ** 20000 %}" + forever + "{% if b * b %}{% endif %}" + ends},
	{"big power", forever + "{% if 3 ** 41000 %}{% endif %}" + ends},
	{"field chain", "{% set f = '{0' ~ '[0]' * 1000000 ~ '}' %}" + forever + "{% if f.format('x') %}{% endif %}" + ends},
	{"paths", "{% set p = 'a.' * 100000 %}" + forever + "{% if [{}] | map(attribute=p, default='x') | list %}{% endif %}" + ends},
	{"indexing", "{% set s = 'ä' * 1000000 %}{% for i in range(100000) %}{{ s[500000] }}{% endfor %}"},
}

// Loops that only a limit ends.
const (
	forever = "{% for i in range(99999) %}{% for j in range(99999) %}"
	ends    = "{% endfor %}{% endfor %}"
)

// growing are operations whose time grows with the length of a text and that give no
// output.
var growing = growingOperations()

func growingOperations() (out []struct{ name, template string }) {
	for _, x := range []string{
		"not s", "d[s]", "s in d", "d.get(s)", "s is lower", "s | length", "s | first", "s | int", "s | float", "s.center(1)", "s.zfill(1)", "s.find('y', 0, 1)",
		"s.startswith((s,) * 1000)", "s.removeprefix(s)", "[s, s] | unique(true) | list", "d | attr(s)", "s | truncate(99999999)", "{s: 1} == {s: 1}",
		"s | wordcount", "s == t", "s < t", "s | max", "s[5]", "s[5:6]", "'y' in s", "s.count('y')", "s | sort", "s | replace('y', 'z')", "s | trim", "s | title", "s | string | escape",
		"s | urlencode", "s | indent", "s | striptags", "s | tojson", "s.split('y')", "s | list | last", "s is in(d)", "s is sameas(t)", "s is filter", "'%s' % s", "'{}'.format(s)", "'%.1s' % s", "s.expandtabs()", "s.translate({})", "s.translate({120: s})", "s.maketrans(s, s)", "s.encode()", "s.encode('utf-16')", "s.encode().decode()", "s.encode().hex()", "s.encode()[5:6]", "s.encode() == t.encode()", "s.encode() < t.encode()", "d[s.encode()]", "7 in s.encode()", "s.encode() | list | last", "n.from_bytes(s.encode())", "(s | e).striptags()", "(s | e).unescape()", "'{!a}'.format(s)",
	} {
		out = append(out, struct{ name, template string }{x, "{% set n = 1 %}{% set s = 'x' * 500000 %}{% set t = s ~ '' %}{% set d = {} %}" + forever + "{% if " + x + " %}{% endif %}" + ends})
	}
	return out
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		name := strings.Repeat("x", i%7) + "v" + strings.Repeat("y", i/7%50) + strings.Repeat("z", i/350)
		b.WriteString("{% if a %}{% set " + name + " = 1 %}{% endif %}")
	}
	return b.String()
}

// TestHostileTemplates: each ends, in bounded time, in text or a typed error.
func TestHostileTemplates(t *testing.T) {
	for i, h := range slices.Concat(hostile, growing) {
		t.Run(h.name, func(t *testing.T) {
			limits := Limits{Steps: 1_000_000, Bytes: 32 << 20, Output: 4 << 20}
			if i >= len(hostile) { // their texts are as large a part of the limits as millions of characters are of these
				part := int64(16)
				if await.Long() {
					part = 4
				}
				limits.Steps, limits.Bytes = limits.Steps/part, limits.Bytes/part
			}
			_, err := render(h.name, h.template, &Context{Limits: limits})
			if kindOf(err) == "untyped" {
				t.Fatalf("untyped error %v", err)
			}
		})
	}
}

// Finding out what traced texts show is work, too, and so is that there are none.
func TestTracedSteps(t *testing.T) {
	ends := func(char, x string, times int) {
		c := &Context{Control: marked("<x>"), Limits: Limits{Steps: 300_000}}
		_, err := render("t", fmt.Sprintf("{%% set s = '%s' * 500000 %%}{%% set d = {} %%}{%% for i in range(%d) %%}{%% if %s %%}{%% endif %%}{%% endfor %%}", char, times, x), c)
		if e, ok := errors.AsType[*RuntimeError](err); !ok || e.Kind != kindLimit {
			t.Errorf("%s: %v, want a limit", x, err)
		}
	}
	for _, x := range []string{"s == s", "s < 'y'", "s in 'y'", "s is defined", "s.startswith('y')", "d[s]", "s.isalpha()", "s[500000] is defined", "d.get(s)", "s.removeprefix('y') == 1", "s | attr('y')"} {
		ends("x", x, 15)
	}
	ends("y", "s == 'x'", 1000)
}

// TestStack: with the usual limits too, the machine's stack does not overflow,
// which would end the process.
func TestStack(t *testing.T) {
	_, err := render("stack", "{% set ns = namespace() %}{% set ns.g = ([ns] * 3000000) | map(attribute='g') | map('list') %}{{ ns.g | list }}", nil)
	if e, ok := errors.AsType[*RuntimeError](err); !ok || e.Kind != kindLimit {
		t.Errorf("%v, want a limit", err)
	}
}

// TestFound has the cases that fuzzing found.
func TestFound(t *testing.T) {
	for template, want := range map[string]string{
		"{{ '0xF' | int(0, 16) }} {{ '0b1' | int(0, 0) }} {{ '0x' | int(7, 16) }} {{ '0' | int(7, 16) }} {{ '0X_f' | int(7, 0) }}": "15 1 7 0 15",
	} {
		if r, err := render("found", template, nil); err != nil || r.Text != want {
			t.Errorf("%s: %q, %v, want %q", template, r.Text, err, want)
		}
	}
}

func TestErrorPositions(t *testing.T) {
	for _, c := range []struct {
		template, construct string
		line, col           int
	}{
		{"a\n{% include 'x' %}", "include", 2, 4},
		{"{% import 'x' as y %}", "import", 1, 4},
		{"{% extends 'x' %}", "extends", 1, 4},
		{"{% from 'x' import y %}", "from", 1, 4},
		{"äö {% trans %}x{% endtrans %}", "trans", 1, 7},
		{"{{ x }}\n\n  {{ y | nosuch }}", "nosuch", 3, 10},
		{"{{ x is nosuch }}", "nosuch", 1, 9},
		{"{{ x | random }}", "random", 1, 8},
		{"{% for i in x %}\n{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "break", 2, 19},
		{"{% if x %}", "end of template", 1, 11},
		{"{{ 'abc }}", "'", 1, 4},
		{"{# x", "comment", 1, 1},
		{"{{ f(a=1, a=2) }}", "a", 1, 11},
		{"{{ a $ b }}", "$", 1, 6},
		{"{% autoescape true %}{% endautoescape %}", "autoescape", 1, 4},
	} {
		_, err := Parse("t", c.template)
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok || e.Construct != c.construct || e.Line != c.line || e.Col != c.col {
			t.Errorf("%q: %#v, want %s at %d:%d", c.template, err, c.construct, c.line, c.col)
		}
	}
	for _, c := range []struct {
		template  string
		kind      Kind
		line, col int
	}{
		{"x\n{{ a.b.c }}", kindUndefined, 2, 6},
		{"{{ 1 }}{{ 1 +\n 'a' }}", kindType, 1, 13},
		{"{{ [].append(1) }}", kindSecurity, 1, 13},
		{"{{ 1 // 0 }}", kindZeroDiv, 1, 6},
		{"{% macro m() %}\n{{ none() }}{% endmacro %}{{ m() }}", kindType, 2, 8},
		{"{{ 'x' | center(none) }}", kindType, 1, 10},
		{"{{ range(1000000) }}", kindOverflow, 1, 9},
	} {
		_, err := render("t", c.template, nil)
		e, ok := errors.AsType[*RuntimeError](err)
		if !ok || e.Kind != c.kind || e.Line != c.line || e.Col != c.col {
			t.Errorf("%q: %#v, want %s at %d:%d", c.template, err, c.kind, c.line, c.col)
		}
	}
}

// TestConcurrentRender is for the race detector.
func TestConcurrentRender(t *testing.T) {
	tmpl, err := Parse("t", "{% macro m(x) %}{{ x | upper }}{% endmacro %}{% for i in range(100) %}{{ m('a' ~ i) }}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := tmpl.Render(nil)
	done := make(chan string)
	for range 4 {
		go func() { r, _ := tmpl.Render(nil); done <- r.Text }()
	}
	for range 4 {
		if got := <-done; got != want.Text {
			t.Error("renderings differ")
		}
	}
}

// TestGivesUp: rendering and decoding end when whoever waits has left, long before their
// limits.
func TestGivesUp(t *testing.T) {
	left := make(chan struct{})
	close(left)
	tmpl, err := Parse("t", "{% for a in range(100000) %}{% set b = a * a %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tmpl.Render(&Context{Done: left}); err == nil || !strings.Contains(err.Error(), "given up") {
		t.Errorf("rendering: %v", err)
	}
	if _, err := tmpl.Render(&Context{Done: make(chan struct{})}); err != nil {
		t.Errorf("rendering that is waited for: %v", err)
	}
	list := []byte("[" + strings.Repeat("1,", 10000) + "1]")
	if _, err := DecodeJSONUntil(left, list); err == nil || !strings.Contains(err.Error(), "given up") {
		t.Errorf("decoding: %v", err)
	}
	if _, err := DecodeJSONUntil(make(chan struct{}), list); err != nil {
		t.Errorf("decoding that is waited for: %v", err)
	}
}
