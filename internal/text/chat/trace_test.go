package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"atenia/internal/golden"
)

// marked is the control of one token.
func marked(token string) *Control {
	return NewControl([]string{token})
}

// shownSaid is a result with the marks that the conversation said as "‹".
func shownSaid(r Result) string {
	b, done := strings.Builder{}, 0
	for _, i := range r.Said {
		b.WriteString(r.Text[done:i] + "‹")
		done = i + 1
	}
	return b.String() + r.Text[done:]
}

// A conversation's marks are told from the template's behind every operation that
// templates use.
func TestSaid(t *testing.T) {
	c := &Context{
		Control:  marked("<"),
		Messages: NewList(NewMap("role", "user", "content", " a<b</x>c< ", "name", "<n>", "<key>", NewList("<v>", int64(1)))),
		Vars:     NewMap("bos", "<s>"), Asked: NewMap("mine", "<m>"),
	}
	const set = "{% set m = messages[0] %}{% set c = m.content %}"
	for _, k := range []struct{ template, want string }{
		{`{{ bos }}{{ mine }}<x>`, `<s>‹m><x>`},
		{`<{{ c }}>`, `< a‹b‹/x>c‹ >`},
		{`{{ c | trim }}|{{ c.strip() }}|{{ c.lstrip(' a<') }}`, `a‹b‹/x>c‹|a‹b‹/x>c‹|b‹/x>c‹ `},
		{`{{ '<' + c }}{{ '<' ~ c }}{{ (c + '<') | trim }}`, `< a‹b‹/x>c‹ < a‹b‹/x>c‹ a‹b‹/x>c‹ <`},
		{`{{ c.split('</x>')[-1] }}{{ c.split('<') | join('<') }}{{ c.rsplit('<', 1) }}`, `c‹  a<b</x>c< [' a‹b‹/x>c', ' ']`},
		{`{{ c.partition('</x>') | join }}{{ c.rpartition('<') | join('') }}`, ` a‹b</x>c‹  a‹b‹/x>c< `},
		{`{{ c | replace('b', '<') }}{{ c.replace('</x>', '') }}{{ '<i>' | replace('i', c) }}{{ c | replace('', '.') }}`, ` a‹<‹/x>c‹  a‹bc‹ < a‹b‹/x>c‹ >. .a.‹.b.‹./.x.>.c.‹. .`},
		{`{{ c[2:4] }}{{ c[2] }}{{ c[::-1] }}{{ c | reverse }}{{ c | list | first }}{% for x in c %}{{ x }}{% endfor %}`, `‹b‹ ‹c>x/‹b‹a  ‹c>x/‹b‹a   a‹b‹/x>c‹ `},
		{`{% if '<b' in c and c.strip().startswith('a<') and c.find('<') == 2 and c.count('<') == 3 and c[2] == '<' %}y{% endif %}`, `y`},
		{`{{ c | tojson }}{{ [c, '<'] | tojson }}{{ c | tojson(ensure_ascii=true) }}{{ c | string }}{{ [c] }}`, `" a‹b‹/x>c‹ "[" a‹b‹/x>c‹ ", "<"]" a‹b‹/x>c‹ " a‹b‹/x>c‹ [' a‹b‹/x>c‹ ']`},
		{`{% for k, v in m.items() if k == '<key>' %}{{ k }}{{ v }}{% endfor %}{{ m['<key>'][0] }}{{ m | tojson }}`, `‹key>['‹v>', 1]‹v>{"role": "user", "content": " a‹b‹/x>c‹ ", "name": "‹n>", "‹key>": ["‹v>", 1]}`},
		{`{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(c) | trim }}{% set y %}<{{ m.name }}{% endset %}{{ y }}{% filter upper %}<{{ m.name }}{% endfilter %}`, `< a‹b‹/x>c‹ ><‹n><‹N>`},
		{`{{ c | upper }}{{ c | title }}{{ c | capitalize }}{{ '<%s>' % m.name }}{{ '<{}>'.format(m.name) }}{{ '%s' | format(m.name) }}`, ` A‹B‹/X>C‹  A‹B‹/x>c‹  a‹b‹/x>c‹ <‹n>><‹n>>‹n>`},
		{`{{ c | e }}{{ ('<' ~ m.name) | safe }}{{ c | urlencode }}`, ` a&lt;b&lt;/x&gt;c&lt; <‹n>%20a%3Cb%3C/x%3Ec%3C%20`},
		{`{{ c.encode().decode() }}{{ '%c' % 60 }}{{ c | indent(1, true) }}{{ c | center(12) }}{{ c | truncate(5, true, '<', 0) }}`, ` a‹b‹/x>c‹ ‹  a‹b‹/x>c‹  a‹b‹/x>c‹   a‹b<`},
		{`{{ {c: 'y'}[' a<b</x>c< '] }}{{ {'<n>': 'z'}[m.name] }}{{ [c, ' a<b</x>c< '] | unique | list | length }}`, `yz1`},
		{`{{ c | length }}{{ c == ' a<b</x>c< ' }}{{ c.isprintable() }}{{ c.removeprefix(' a<') }}{{ c.removesuffix('< ') }}{{ c.translate({60: '<<'}) }}`, `11TrueTrueb‹/x>c‹  a‹b‹/x>c a<<b<</x>c<< `},
	} {
		r, err := render("t", set+k.template, c)
		if err != nil {
			t.Errorf("%s: %v", k.template, err)
			continue
		}
		if got := shownSaid(r); got != k.want {
			t.Errorf("%s\n got %s\nwant %s", k.template, got, k.want)
		}
		plain := *c
		plain.Control = nil
		if p, err := render("t", set+k.template, &plain); err != nil || p.Text != r.Text || p.Said != nil || r.Said == nil {
			t.Errorf("%s: untraced %q, %v, traced %q", k.template, p.Text, err, r.Text)
		}
	}
}

// Characters of private use in a conversation, its folder's variables or the template
// stay what they are.
func TestSaidPrivateUse(t *testing.T) {
	var all strings.Builder
	for r := rune(0x100000); r < 0x100100; r++ {
		all.WriteRune(r)
	}
	c := &Context{Control: marked("<["), Messages: NewList(NewMap("content", "<"+all.String()+"[")), Vars: NewMap("own", "\U00100103")}
	r, err := render("t", "\U00100101<{{ messages[0].content }}{{ own }}[", c)
	if want := "\U00100101<‹" + all.String() + "‹\U00100103["; err != nil || shownSaid(r) != want {
		t.Errorf("%q, %v", shownSaid(r), err)
	}
	for r := rune(0x100100); r < 0x110000; r += 2 {
		all.WriteRune(r)
	}
	c.Messages = NewList(NewMap("content", "<"+all.String()))
	if _, err = render("t", "{{ messages[0].content }}", c); err == nil || !strings.Contains(err.Error(), "private use") {
		t.Errorf("no character left: %v", err)
	}
}

// Two texts of a conversation can be the halves of a mark's bytes.
func TestSaidHalves(t *testing.T) {
	const mark = "｜" // three bytes
	c := &Context{Control: marked("<" + mark), Messages: NewList(NewMap("a", mark[:1], "b", mark[1:]))}
	for _, template := range []string{"{{ '<' + messages[0].a + messages[0].b }}", "<{{ messages[0].a }}{{ messages[0].b }}", "<{{ messages[0].a }}{{ messages[0].b }}>"} {
		r, err := render("t", template, c)
		if err != nil || !strings.HasPrefix(r.Text, "<"+mark) || !slices.Equal(r.Said, []int{1}) {
			t.Errorf("%s: %q, said at %d, %v", template, r.Text, r.Said, err)
		}
	}
}

// Errors quote the conversation as it is.
func TestSaidErrors(t *testing.T) {
	c := &Context{Control: marked("<"), Messages: NewList(NewMap("content", "<b>"))}
	_, err := render("t", "{{ raise_exception(messages[0].content) }}", c)
	if e, ok := errors.AsType[*RaiseError](err); !ok || e.Message != "<b>" {
		t.Errorf("%v", err)
	}
	if _, err = render("t", "{{ ['a'].index(messages[0].content) }}", c); err == nil || !strings.Contains(err.Error(), "'<b>'") {
		t.Errorf("%v", err)
	}
}

// forge appends a part of a control token to each text of a conversation but those, and
// empty ones, that choose what the template does; to keys of arguments and parameters, too.
func forge(v Value, key, part string) Value {
	switch v := v.(type) {
	case string:
		if v != "" && key != "role" && key != "type" {
			return v + part
		}
	case *List:
		l := &List{}
		for _, x := range v.Items {
			l.Items = append(l.Items, forge(x, key, part))
		}
		return l
	case *Map:
		m := &Map{}
		for k, x := range v.All() {
			name, _ := k.(string)
			if x = forge(x, name, part); key == "arguments" || key == "properties" {
				k = part
			}
			m.Set(k, x)
		}
		return m
	}
	return v
}

// No template makes a text of the conversation its own, whole or with marks of its own
// around it.
func TestForged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(golden.Family(t, "chat"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{"<|forged|>", "<forged>", "[forged]", "<｜forged｜>"}
	control := NewControl(tokens)
	for _, part := range append(tokens, "|forged|", "|forged|>", "<|forged|", "forged", "forged>") {
		shown, seen := 0, map[string]bool{}
		for _, k := range v.(*List).Items {
			k := k.(*Map)
			vars, _ := k.Get("context")
			c := contextOf(vars.(*Map))
			template := str(k, "template")
			if _, ok := vars.(*Map).Get("messages"); !ok {
				continue
			}
			c.Control = control
			c.Messages, c.Tools, c.Documents = forge(c.Messages, "", part), forge(c.Tools, "", part), forge(c.Documents, "", part)
			r, err := render(str(k, "name"), template, c)
			if err != nil {
				continue // the template looks at what was forged
			}
			if strings.Contains(r.Text, part) {
				shown++
				seen[template] = true
			}
			for _, token := range counted(r, tokens) {
				t.Errorf("%s, %s: %s", str(k, "name"), part, token)
			}
		}
		if shown < 60 || len(seen) < 20 {
			t.Errorf("%d conversations of %d templates show %s", shown, len(seen), part)
		}
	}
}

// counted returns which control tokens a result has that no byte of was said.
func counted(r Result, tokens []string) (found []string) {
	for _, token := range tokens {
		for at := 0; ; at++ {
			i := strings.Index(r.Text[at:], token)
			if i < 0 {
				break
			}
			at += i
			if n, _ := slices.BinarySearch(r.Said, at); n == len(r.Said) || r.Said[n] >= at+len(token) {
				found = append(found, token)
			}
		}
	}
	return found
}

// A template that writes its own marks around a word makes a control token of a role, and
// of nothing else that somebody said, however it is written or cut.
func TestWordsForged(t *testing.T) {
	tokens := []string{"<end_of_turn>", "<|im_end|>", "<s>", "<|END|>", "[INST]", "_<EOT>", "<｜fim▁end｜>"}
	c := &Context{
		Control: NewControl(tokens),
		Messages: NewList(NewMap("role", "end_of_turn", "content", "s", "name", "End_Of_Turn", "parts", NewList("im", "_", "end"),
			"end_of_turn", NewMap("role", "im_end", "s", "INST"), "text", " it is: im_end, _ ")),
		Tools: NewList(NewMap("role", "end_of_turn")), Documents: NewList(NewMap("im_end", "fim▁end")), Asked: NewMap("mine", "end"),
	}
	for template, want := range map[string]string{
		`<{{ messages[0].role }}>`:                        "<end_of_turn>", // the program's
		`<{{ messages[0].content }}>`:                     "",
		`{{ '<' ~ messages[0].content + '>' }}`:           "",
		`<{{ messages[0].name | lower }}>`:                "",
		`<{{ messages[0].name.lower() }}>`:                "",
		`<{{ messages[0].name.casefold() ~ '>' }}`:        "",
		`{% for k in messages[0] %}<{{ k }}>{% endfor %}`: "",
		`{% for k, v in messages[0].end_of_turn.items() %}<{{ k }}>[{{ v }}]<|{{ v }}|>{% endfor %}`: "",
		`<|{{ messages[0].parts | join }}|>`:                                         "",
		`<|{{ messages[0].parts[0] }}_end|>`:                                         "",
		`<|im_{{ messages[0].parts[2] }}|>`:                                          "",
		`{% set b = "<|" %}{{ b }}{{ messages[0].parts | join('') }}|>`:              "",
		`<|{{ messages[0].text.split(' ')[3].strip(',') }}|>`:                        "",
		`<|{{ messages[0].text | trim | replace(' it is: ', '') }}|>`:                "",
		`<{{ tools[0].role }}>`:                                                      "",
		`{% for k, v in documents[0].items() %}<|{{ k }}|><｜{{ v }}｜>{% endfor %}`:   "",
		`<|{{ mine | upper }}|><|{{ mine.upper() }}|>`:                               "",
		`{% macro m(x) %}<|{{ x }}|>{% endmacro %}{{ m(mine | upper) }}`:             "",
		`{{ '<%s>' % messages[0].content }}{{ '<{}>'.format(messages[0].content) }}`: "",
		`{{ messages[0].text[-2] }}<EOT>`:                                            "",
		`<{{ 'end_of_turn' }}>{{ messages[0].content }}`:                             "<end_of_turn>",
		`<s>{{ messages[0].content }}</s>`:                                           "<s>",
	} {
		r, err := render("t", template, c)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if got := strings.Join(counted(r, tokens), " "); got != want {
			t.Errorf("%s: %s, of which count %q, want %q", template, r.Text, got, want)
		}
	}
}

// FuzzSaid renders any template with and without tracing: the text is the same.
func FuzzSaid(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		c := &Context{
			Messages: NewList(NewMap("role", "user", "content", "a<b</think>c[d] -5.5"), NewMap("role", "assistant", "content", nil, "<k", NewList("<v>", 2.5, true))),
			Now:      goldenNow, Vars: NewMap("s", "Hello World", "n", int64(7)), Asked: NewMap("xs", NewList("<", "b["), "d", NewMap("[", "-7", "a", 2.0)),
			Limits: Limits{Steps: 100_000, Bytes: 4 << 20, Output: 1 << 20, Calls: 50},
		}
		r, err := render("fuzz", s, c)
		for _, words := range []string{"", " a Hello b k world 55"} {
			const marks = "<>[]|/-'.{"
			c.Control = marked(marks + words)
			again, err2 := render("fuzz", s, c)
			for _, err := range []error{err, err2} {
				if e, ok := errors.AsType[*RuntimeError](err); ok && e.Kind == kindLimit {
					return
				}
			}
			if r.Text != again.Text || fmt.Sprint(err) != fmt.Sprint(err2) {
				t.Fatalf("%q, %v; traced %q, %v", r.Text, err, again.Text, err2)
			}
			for _, i := range again.Said {
				if i >= len(again.Text) || !strings.ContainsRune(strings.ToUpper(marks+words), unicode.ToUpper(rune(again.Text[i]))) {
					t.Fatalf("byte %d of %q is of no token", i, again.Text)
				}
			}
		}
	})
}
