package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A tree is a JSON value. Objects keep their order and may have equal keys.
type tree struct {
	kind byte     // { [ " n: a number, or true, false and null
	raw  string   // of " and n, as written
	keys []string // of {, as written
	kids []*tree
}

// A jsonReader makes trees of valid JSON.
type jsonReader struct {
	b  []byte
	at int
}

// parseJSON returns nil for what is no JSON.
func parseJSON(b []byte) *tree {
	if !json.Valid(b) {
		return nil
	}
	r := &jsonReader{b: b}
	return r.value()
}

func (r *jsonReader) space() {
	for r.at < len(r.b) && strings.IndexByte(" \t\r\n,:", r.b[r.at]) >= 0 {
		r.at++
	}
}

func (r *jsonReader) text() string {
	start := r.at
	for r.at++; r.b[r.at] != '"'; r.at++ {
		if r.b[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
	return string(r.b[start:r.at])
}

func (r *jsonReader) value() *tree {
	r.space()
	switch c := r.b[r.at]; c {
	case '{', '[':
		t := &tree{kind: c}
		r.at++
		for r.space(); r.b[r.at] != '}' && r.b[r.at] != ']'; r.space() {
			if c == '{' {
				t.keys = append(t.keys, r.text())
			}
			t.kids = append(t.kids, r.value())
		}
		r.at++
		return t
	case '"':
		return &tree{kind: '"', raw: r.text()}
	}
	start := r.at
	for r.at < len(r.b) && strings.IndexByte(" \t\r\n,:]}", r.b[r.at]) < 0 {
		r.at++
	}
	return &tree{kind: 'n', raw: string(r.b[start:r.at])}
}

func (t *tree) append(b []byte) []byte {
	switch t.kind {
	case '{', '[':
		b = append(b, t.kind)
		for i, k := range t.kids {
			if i > 0 {
				b = append(b, ',')
			}
			if t.kind == '{' {
				b = append(append(b, t.keys[i]...), ':')
			}
			b = k.append(b)
		}
		return append(b, t.kind+2) // ] follows \ follows [, as } follows | follows {
	}
	return append(b, t.raw...)
}

// pick descends to a value, and returns it with its parent; values near the root
// are as likely as those of a long list.
func (t *tree) pick(r random) (parent *tree, i int) {
	for parent = t; ; {
		if len(parent.kids) == 0 {
			return nil, 0
		}
		i = r.IntN(len(parent.kids))
		if next := parent.kids[i]; len(next.kids) == 0 || r.chance(4) {
			return parent, i
		} else {
			parent = next
		}
	}
}

var oddNumbers = strings.Fields(`0 -0 1 -1 2 7 -7 0.5 -0.5 1e-30 1e30 1e38 3.5e38 1e308 1e309 -1e309 1e-400 255 256 65535 65536 1048576 16777217
	2147483647 2147483648 -2147483648 4294967295 4294967296 9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808
	18446744073709551615 18446744073709551616 99999999999999999999999999 1.0 1e3 1E+2 0.1e1 NaN Infinity -Infinity true false null`)

var oddTexts = []string{"", " ", "\x00", "▁", "Ġ", "##", "</w>", "a", "../../etc/passwd", "/dev/zero", "\u202e", "e\u0301", "👩‍🚀", "ﷺ", "İ", "ſ",
	"{{ 0 }}", "%s%n", "(a+)+$", "(?:a|b|ab)*c", "\\p{L}+|\\s", "[^\\r\\n]", ".*", "(", "a{1000}", "(((((a{99}){99}){99}", "$A", "$0 </s> $B:1", "-1", "0", "1e999", "None", "<0x0A>", "<s>"}

// oddValue returns a value that is written without regard to what stood there.
func oddValue(r random) *tree {
	switch r.IntN(6) {
	case 0, 1:
		return &tree{kind: 'n', raw: oddNumbers[r.IntN(len(oddNumbers))]}
	case 2:
		return &tree{kind: '"', raw: strconv.QuoteToASCII(strings.Repeat("a", 1<<r.IntN(17)))}
	case 3: // deep
		n := 1 << r.IntN(15)
		if r.chance(2) {
			return &tree{kind: 'n', raw: strings.Repeat("[", n) + strings.Repeat("]", n)}
		}
		return &tree{kind: 'n', raw: strings.Repeat(`{"a":`, n) + "0" + strings.Repeat("}", n)}
	case 4:
		return &tree{kind: one(r, byte('['), '{')}
	}
	return quoted(oddTexts[r.IntN(len(oddTexts))])
}

func quoted(s string) *tree {
	b, _ := json.Marshal(s)
	return &tree{kind: '"', raw: string(b)}
}

// mutateJSON changes one value of a tree.
func mutateJSON(r random, data, donor []byte) []byte {
	t := parseJSON(data)
	if t == nil {
		return nil
	}
	t.change(r, donor)
	return t.append(make([]byte, 0, len(data)+64))
}

// change changes one value somewhere below t.
func (t *tree) change(r random, donor []byte) {
	p, i := t.pick(r)
	if p == nil {
		*t = *oddValue(r)
		return
	}
	v := p.kids[i]
	insert := func(at int, key string, x *tree) {
		p.kids = append(p.kids[:at:at], append([]*tree{x}, p.kids[at:]...)...)
		if p.kind == '{' {
			p.keys = append(p.keys[:at:at], append([]string{key}, p.keys[at:]...)...)
		}
	}
	key := func(j int) string {
		if p.kind == '{' {
			return p.keys[j]
		}
		return `"k"`
	}
	switch r.IntN(13) {
	case 0, 1:
		p.kids[i] = oddValue(r)
	case 2:
		p.kids = append(p.kids[:i:i], p.kids[i+1:]...)
		if p.kind == '{' {
			p.keys = append(p.keys[:i:i], p.keys[i+1:]...)
		}
	case 3: // twice, with a different value or the same
		x := v
		if r.chance(2) {
			x = oddValue(r)
		}
		insert(r.IntN(len(p.kids)+1), key(i), x)
	case 4:
		j := r.IntN(len(p.kids))
		p.kids[i], p.kids[j] = p.kids[j], v
	case 5: // a value from elsewhere
		from := t
		if d := parseJSON(donor); d != nil && r.chance(2) {
			from = d
		}
		if q, j := from.pick(r); q != nil {
			p.kids[i] = parseJSON(q.kids[j].append(nil)) // a copy: a tree must not have itself below it
			if p.kids[i] == nil {
				p.kids[i] = v
			}
		}
	case 6: // many times
		n := 1 << r.IntN(11)
		n = min(n, 1+(1<<19)/(1+len(v.append(nil))))
		kids, keys, name := make([]*tree, n), make([]string, n), key(i)
		for k := range n {
			if r.chance(2) {
				name = fmt.Sprintf("%q", fmt.Sprint(k))
			}
			kids[n-1-k], keys[n-1-k] = v, name
		}
		p.kids = slices.Insert(slices.Clip(p.kids), i, kids...)
		if p.kind == '{' {
			p.keys = slices.Insert(slices.Clip(p.keys), i, keys...)
		}
	case 7: // in a list, or in a sequence of steps
		p.kids[i] = &tree{kind: '[', kids: []*tree{v}}
		if v.kind == '{' && r.chance(2) {
			n := 1 + r.IntN(30)
			list := &tree{kind: '['}
			for range n {
				list.kids = append(list.kids, v)
			}
			name := one(r, `"normalizers"`, `"pretokenizers"`, `"processors"`, `"decoders"`)
			p.kids[i] = &tree{kind: '{', keys: []string{`"type"`, name}, kids: []*tree{quoted("Sequence"), list}}
		}
	case 8:
		if p.kind == '{' {
			p.keys[i] = one(r, p.keys[r.IntN(len(p.keys))], strings.ToUpper(p.keys[i]), `""`, `"a\u0000"`)
		}
	default:
		p.kids[i] = v.near(r)
	}
}

// near returns a value of the same type.
func (t *tree) near(r random) *tree {
	switch t.kind {
	case '"':
		var s string
		if json.Unmarshal([]byte(t.raw), &s) != nil {
			return t
		}
		switch r.IntN(6) {
		case 0:
			s += oddTexts[r.IntN(len(oddTexts))]
		case 1:
			s = strings.Repeat(s, 1<<r.IntN(11))
		case 2:
			s = string(mutateBytes(r, []byte(s), nil))
		case 3:
			return quoted(string(mutateText(r, []byte(s), nil)))
		case 4:
			s = s[:r.IntN(len(s)+1)]
		case 5:
			s = oddTexts[r.IntN(len(oddTexts))]
		}
		if len(s) > 1<<17 {
			s = s[:1<<17]
		}
		return quoted(s)
	case 'n':
		if n, err := strconv.ParseInt(t.raw, 10, 64); err == nil {
			return &tree{kind: 'n', raw: strconv.FormatInt(int64(r.number(uint64(n))), 10)}
		}
		if x, err := strconv.ParseFloat(t.raw, 64); err == nil {
			x *= one(r, -1, 0, 2, .5, 1e10, 1e-10, 1e38, 1e300)
			if b, err := json.Marshal(x); err == nil {
				return &tree{kind: 'n', raw: string(b)}
			}
		}
		return &tree{kind: 'n', raw: oddNumbers[r.IntN(len(oddNumbers))]}
	}
	kids := append([]*tree{}, t.kids...)
	keys := append([]string{}, t.keys...)
	if n := len(kids); n > 1 { // a part of it, or turned
		i, j := r.IntN(n), r.IntN(n)
		if kids[i], kids[j] = kids[j], kids[i]; len(keys) > 0 {
			keys[i], keys[j] = keys[j], keys[i]
		}
		if r.chance(3) {
			kids = kids[:i+1]
			if len(keys) > 0 {
				keys = keys[:i+1]
			}
		}
	}
	return &tree{kind: t.kind, keys: keys, kids: kids}
}

// mutateLines changes a line of JSON, or the lines.
func mutateLines(r random, data, donor []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	i := r.IntN(len(lines))
	if r.chance(4) {
		return mutateText(r, data, donor)
	}
	line := bytes.TrimSuffix(lines[i], []byte("\n"))
	if out := mutateJSON(r, line, nil); out != nil {
		lines[i] = append(out, '\n')
		return bytes.Join(lines, nil)
	}
	return nil
}
