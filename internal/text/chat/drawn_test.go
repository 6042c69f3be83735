package chat

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/golden/await"
)

// A drawer draws templates of which no text has the letter q in either case.
type drawer struct {
	*rand.Rand
	filters, tests []string
	methods        []*Func
	names          []string // of methods
}

func newDrawer(seed uint64) *drawer {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 1)), filters: slices.Sorted(maps.Keys(filters)), tests: slices.Sorted(maps.Keys(tests))}
	for _, table := range []map[string]*Func{stringMethods, markupMethods, listMethods, dictMethods, bytesMethods} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			d.names, d.methods = append(d.names, name), append(d.methods, table[name])
		}
	}
	return d
}

func (d *drawer) of(list ...string) string { return list[d.IntN(len(list))] }

// text draws a literal: pieces of control tokens, formats, separators and lines.
func (d *drawer) text() string {
	return d.of(`'<|'`, `'|>'`, `'<'`, `'|'`, `'<|uit|>'`, `'u'`, `'uit'`, `'x'`, `'xx'`, `' '`, `'_'`, `''`, `'a b'`, `'<| x |>'`, `'%s'`, `'<|%s|>'`, `'%c%s'`, `'%r %5.3s'`, `'%d'`, `'{}'`, `'<|{}|>'`,
		`'{0!r:>9}{0:c}'`, `'{:.4}'`, `'<UIT'`, `'&lt;|'`, `'utf-8'`, `'upper'`, `'string'`, `'0'`, `'ne'`, `'a.0'`, `'\n'`, `"\t'"`, `'é<|ß'`, `'%Y<'`)
}

// expr draws an expression: of the conversation, where it has a leaf of it.
func (d *drawer) expr(depth int) string {
	if depth == 0 {
		switch d.IntN(8) {
		case 0, 1, 2:
			return d.text()
		case 3:
			return d.of("0", "1", "2", "-1", "7", "2.5", "true", "none", "60")
		}
		return d.of("c", "c", "m.content", "m.xs[0]", "m.xs", "m.n", "m", "m.args", "m.role", "asked")
	}
	x := d.expr(d.IntN(depth))
	y := func() string { return d.expr(d.IntN(depth)) }
	switch d.IntN(15) {
	case 0, 1, 2:
		name := d.of(d.filters...)
		return "(" + x + ") | " + name + d.args(filters[name], y)
	case 3, 4, 5:
		i := d.IntN(len(d.names))
		return "(" + x + ")." + d.names[i] + d.args(d.methods[i], y)
	case 6:
		return "(" + x + ")[" + d.of("1:", ":-1", ":4", "::-1", "0", "-1", "2:5", "::2") + "]"
	case 7:
		return "((" + x + ") + (" + y() + "))"
	case 8:
		return "((" + x + ") % (" + y() + "))"
	case 9:
		return d.of("["+x+", "+y()+"]", "("+x+", "+y()+")", "{"+x+": "+y()+"}", "dict(a="+x+")", "["+x+"][0]")
	case 10:
		name := d.of(d.tests...)
		return "(" + x + " if (" + y() + ") is " + name + d.args(tests[name], y) + " else " + y() + ")"
	case 11:
		return "(" + x + " if (" + y() + ") " + d.of("==", "in", "<", "!=", ">=") + " (" + y() + ") else " + y() + ")"
	case 12: // what is seldom drawn
		return "(" + strings.NewReplacer("X", x, "Y", y()).Replace(d.of("((X)|safe).unescape()", "'<|%c' % m.n", "'<|{:c}|>'.format(m.n)", "(X).translate({120: 113, 117: 'u'})", "strftime_now(X)", "{X: 1} | xmlattr",
			"'{:{}}'.format('<|', X)", "'{:{}}'.format('<|', '>4s')", "(X) | truncate(3, false, '', 0)", "(X).split(**{'sep': Y})", "((X) ~ '\\r\\n' ~ (Y)).splitlines()", "{X: 1}[Y]", "(X)['up' ~ 'per']()", "m['con' ~ 'tent']", "c[X]",
			"namespace({X: Y}) | string", "namespace(**{'_a': Y}).a", "namespace(a=X).a", "namespace({'_': X})", "cycler(X, Y).next()", "joiner(X)()", "raise_exception(X)", "[X, Y] | sort(attribute='0,1')", "[X, Y] | map('replace', Y, X) | join",
			"[m, m] | map(attribute='args.a') | join(X)", "(5).to_bytes(2, 'big')", "dict([[X, Y]])", "(X).encode('latin-1', 'xmlcharrefreplace').decode('ascii')", "m.args.items() | list | tojson(indent=1)", "({X: Y, 'a': 1} | dictsort(false, 'value'))[0]")) + ")"
	}
	return "((" + x + ") ~ (" + y() + ") ~ " + d.text() + ")"
}

func (d *drawer) args(f *Func, arg func() string) string {
	n := len(f.Params)
	if f.raw != nil {
		n = 2
	}
	for range d.IntN(n + 1) {
		if n > 0 && (f.raw != nil || strings.HasSuffix(f.Params[n-1], "?")) {
			n--
		}
	}
	var list []string
	for range n {
		list = append(list, arg())
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// template draws a template.
func (d *drawer) template() string {
	b := strings.Builder{}
	b.WriteString("{% set m = messages[0] %}{% set c = m.content %}")
	for range 1 + d.IntN(3) {
		x := d.expr(1 + d.IntN(3))
		switch d.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "{%% for x in %s %%}<|{{ x }}|>{%% endfor %%}", x)
		case 1:
			fmt.Fprintf(&b, "{%% filter %s %%}<|{{ %s }}|>{%% endfilter %%}", d.of("upper", "lower", "trim", "replace('x','')", "title", "capitalize", "string", "striptags", "wordwrap(3)", "indent(1)", "safe"), x)
		case 2:
			fmt.Fprintf(&b, "{%% macro f(x) %%}<|{{ x }}|>{%% endmacro %%}{{ f(%s) }}", x)
		case 3:
			fmt.Fprintf(&b, "{%% set y %%}<|{{ %s }}|>{%% endset %%}{{ y }}", x)
		default:
			fmt.Fprintf(&b, "%s{{ %s }}%s", d.of("<|", "<", "", "<|u", "</"), x, d.of("|>", ">", "", "it|>", "\n"))
		}
	}
	return b.String()
}

// conversation draws one whose texts make the control token <|quit|> with what a template
// writes around, cuts off and maps.
func (d *drawer) conversation() *Context {
	say := func() string {
		return d.of("quit", "xquit", "x_quit", "quitless", "tiuq", "qxuxixt", "Quit", "QUIT", "&lt;|quit|&gt;", "<|quit|>", "|quit|", "<b>&lt;</b>|quit|>", "q", "qu", "113", "60", " quit ", "quit\nquit", "it's <|q", "quıt", "quſit",
			"a%s<|quit|>", "{}<|quit|>{0[0]}", "%Y q", "é<|quit|>", "\xff quit\xe2", "\U00100000quit\U00100005", "<|quit|>"+strings.Repeat(" quit", 3))
	}
	return &Context{
		Messages: NewList(NewMap("role", d.of("user", "uit", "<|"), "content", say(), "n", int64([]int{5, 60, 113}[d.IntN(3)]), "xs", NewList(say(), int64(1), say()), "args", NewMap(say(), say(), "a", 2.5))),
		Asked:    NewMap("asked", say()), Vars: NewMap("bos", "<s>"), Now: goldenNow, Limits: Limits{Steps: 100_000, Bytes: 4 << 20, Output: 1 << 20, Calls: 50},
	}
}

// shownTo is a conversation for a message.
func shownTo(c *Context) string {
	s, _ := newMachine(Limits{}).Repr(c.Messages)
	return s
}

// sameTraced renders with and without tracing and wants the same text and the same error.
// It returns whether there is a result.
func sameTraced(t *testing.T, template string, c *Context) (Result, bool) {
	t.Helper()
	without := *c
	without.Control = nil
	r, err := render("t", template, &without)
	again, err2 := render("t", template, c)
	for _, err := range []error{err, err2} {
		if e, ok := errors.AsType[*RuntimeError](err); ok && e.Kind == kindLimit {
			return again, false // dyed texts are longer
		}
	}
	if fmt.Sprint(err) != fmt.Sprint(err2) || r.Text != again.Text {
		t.Fatalf("%s\n%s\nuntraced %q, %v\n  traced %q, %v", template, shownTo(c), r.Text, err, again.Text, err2)
	}
	return again, err == nil
}

// What a template writes counts, however it does: in pieces, through filters, in formats.
func TestWritten(t *testing.T) {
	tokens := []string{"<|quit|>", "<s>", "<5>", "<True>", "<None>", "<x y>", "[q]"}
	c := &Context{Control: NewControl(tokens), Vars: NewMap("bos_token", "<s>"), Messages: NewList(NewMap("role", "quit", "content", "it's <|quit|>", "n", int64(5), "space", " ", "yes", true, "no", nil))}
	for template, want := range map[string]int{
		`{{ '<|' ~ 'quit' ~ '|>' }}{{ '<|' + messages[0].role + '|>' }}<|{{ messages[0].role }}|>`:                               3,
		`{{ bos_token }}{{ bos_token[:2] ~ '>' }}{{ '<x y>' }}<x{{ ' ' }}y>{{ ' <x y> ' | trim }}`:                               5,
		`<{{ messages[0].n }}>{{ '<%d>' % 5 }}{{ '<{}>'.format(5) }}{{ '<{:d}>'.format(5) }}<{{ 2 + 3 }}>`:                       5,
		`<{{ messages[0].yes }}><{{ messages[0].no }}><x{{ messages[0].space }}y>`:                                               0,
		`{{ '<|QUIT|>' | lower }}{{ '<|QUIT|>'.casefold() }}{{ '<|QuiT|>'.swapcase() }}<|{{ 'QUIT' | lower }}|>`:                 3,
		`{{ '<|%s|>' % 'quit' }}{{ '<|{}|>'.format('quit') }}{{ '<|%s|>' | format('quit') }}{{ '{0}' | replace('{0}', '<s>') }}`: 4,
		`{{ ['<|quit|>'] }}{{ ['<|quit|>'] | tojson }}{{ ['<|', 'quit|>'] | join }}{{ '<s>,<s>'.split(',')[1] }}`:                4,
		`{% filter trim %} <s>{{ messages[0].content }}{% endfilter %}{% set x %}<s>{% endset %}{{ x }}{{ '<s>' | safe }}`:       3,
		`{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('s') }}{{ ('<s> ' ~ messages[0].content) | wordwrap(3) }}`:                  2,
		`{{ messages[0].content | replace("it's", '<s>') | replace('x', '') }}{{ '>s<'[::-1] }}{{ {'a': '<s>'}.get('a') }}`:      3,
		`{{ none | default('<s>') }}{{ x | default('<s>') }}{{ {}.get('a', '<s>') }}{{ '[q]' | center(9) }}`:                     3,
		`{% for x in ['<s>', '[q]'] %}{{ x }}{{ loop.index }}{% endfor %}{{ ['<s>'] | map('replace', 'x', '') | first }}`:        3,
	} {
		r, err := render("t", template, c)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if got := counted(r, tokens); len(got) != want {
			t.Errorf("%s: %s, of which count %q, want %d", template, r.Text, got, want)
		}
		sameTraced(t, template, c)
	}
}

// The control tokens that the reference templates write count.
func TestGoldenWritten(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(golden.Family(t, "chat"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for name := range strings.FieldsSeq("|im_start| |im_end| s /s start_of_turn end_of_turn |start_header_id| |end_header_id| |eot_id| |user| |assistant| |system| |end| |START_OF_TURN_TOKEN| |start| |message| ｜Assistant｜") {
		tokens = append(tokens, "<"+name+">")
	}
	tokens = append(tokens, "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]")
	control, found, seen := NewControl(tokens), map[string]bool{}, 0
	for _, k := range v.(*List).Items {
		k := k.(*Map)
		vars, _ := k.Get("context")
		c := contextOf(vars.(*Map))
		if s, err := newMachine(Limits{}).Repr(vars); err != nil || strings.Contains(strings.ReplaceAll(s, "_token': '<", ""), "<") {
			continue // somebody says a mark
		}
		c.Control = control
		r, err := render(str(k, "name"), str(k, "template"), c)
		if err != nil {
			continue
		}
		want := 0
		for _, token := range tokens {
			want += strings.Count(r.Text, token)
			if strings.Contains(r.Text, token) {
				found[token] = true
			}
		}
		if got := counted(r, tokens); len(got) != want {
			t.Errorf("%s: %q: of %d count %q", str(k, "name"), r.Text, want, got)
		}
		if want > 0 {
			seen++
		}
	}
	if seen < 40 || len(found) < 12 {
		t.Errorf("%d texts with %d kinds of control tokens", seen, len(found))
	}
}

// However a template cuts, maps, formats and joins what the conversation says, it is the
// conversation's; the text is the one without tracing, and so are errors.
func TestDrawnForged(t *testing.T) {
	d := newDrawer(7)
	tokens := []string{"<|quit|>", "<quit>", "<|q|>", "</QUIT>", "<|q", "q|>"}
	control := NewControl(tokens)
	var ascii strings.Builder
	for r := rune(1); r < 128; r++ {
		ascii.WriteRune(r)
	}
	all := marked(ascii.String() + "éßıſ ")
	rendered, forged := 0, 0
	draws := 6_000
	if await.Long() {
		draws = 15_000
	}
	for range draws {
		c, template := d.conversation(), d.template()
		c.Control = all
		sameTraced(t, template, c)
		c.Control = control
		r, ok := sameTraced(t, template, c)
		if !ok {
			continue
		}
		rendered++
		if slices.ContainsFunc(tokens, func(s string) bool { return strings.Contains(r.Text, s) }) {
			forged++
		}
		if found := counted(r, tokens); found != nil {
			t.Fatalf("%s\n%s\n%q: counts %v", template, shownTo(c), r.Text, found)
		}
	}
	if rendered < draws/5 || forged < draws/30 {
		t.Errorf("%d rendered, of which %d have a control token", rendered, forged)
	}
}
