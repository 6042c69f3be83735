package chat

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// A text of a conversation must not become a control token: a model would read
// "<|im_end|>" in a message as the end of that message. So a rendering can tell
// which characters of its result the template wrote.
//
// It dyes them: in the texts of the template, the model's variables, roles and numbers,
// the characters that control tokens have (see [Control]) are replaced by private-use
// characters that occur nowhere in the conversation, one for each. Through trims, slices,
// joins, macros and loops those go as any other character does, and what comes out is read
// back. What is dyed in the result is the template's; all else is taken to be the
// conversation's, such as what it has in entities or numbers of characters. So an
// operation that loses the dye is safe: it makes a control token of the template a text.
//
// Whatever looks at characters sees the ones that are meant, by [Machine.plain] or a
// [shown], so that the text is the one without tracing. [functionType.Apply] sees to it for all
// but the functions in a list, takesDyed.
type tracer struct {
	*Control         // nil: nothing is traced
	texts    int     // bytes of what the conversation says, of which most are written
	base     rune    // stands for signs[0], base+1 for signs[1] …
	own      []Value // the texts of the template, dyed; nil: nothing is traced
}

// The last plane of characters without a meaning, whose UTF-8 begins with privateByte.
const (
	privateFirst = 0x100000
	privateLast  = 0x10fffd
	privateByte  = 0xf4
)

// trace prepares tracing of the template's texts through a rendering of values.
func (m *Machine) trace(t *Template, c *Control, values ...Value) error {
	if c == nil {
		return nil
	}
	taken := []rune(t.own)
	for _, v := range values {
		if err := m.private(v, 0, &taken); err != nil {
			return err
		}
	}
	slices.Sort(taken)
	base := rune(privateFirst)
	for _, r := range taken {
		if r >= base+rune(len(c.signs)) {
			break
		}
		base = r + 1
	}
	if base+rune(len(c.signs)) > privateLast {
		return valueError("there are not enough characters of private use from U+100000 on to tell the template's text by: the control tokens have %d characters, the conversation has %d of private use", len(c.signs), len(taken))
	}
	m.Control, m.base = c, base
	d := t.dyed.Load()
	if d == nil || d.of != c || d.base != base {
		d = &dyed{of: c, base: base, texts: make([]Value, len(t.texts))}
		for i, s := range t.texts {
			d.texts[i] = m.dye(s)
		}
		t.dyed.Store(d)
	}
	m.own = d.texts
	return nil
}

// A dyed is the texts of a template for a Control and a base.
type dyed struct {
	of    *Control
	base  rune
	texts []Value
}

// private appends the characters of private use in the texts of a value, keys included.
func (m *Machine) private(v Value, depth int, taken *[]rune) error {
	if depth > nestingLimit {
		return errNested()
	}
	var lists [2][]Value
	switch v := v.(type) {
	case string, Markup:
		s, _ := text(v)
		if strings.IndexByte(s, privateByte) >= 0 {
			for _, r := range s {
				if r >= privateFirst {
					*taken = append(*taken, r)
				}
			}
		}
		m.texts += len(s)
		return m.Read(s)
	case *List:
		lists[0] = v.Items
	case *Tuple:
		lists[0] = v.Items
	case *Map:
		if v != nil {
			lists = [2][]Value{v.Keys, v.Vals}
		}
	}
	for _, x := range slices.Concat(lists[:]...) {
		if err := m.private(x, depth+1, taken); err != nil {
			return err
		}
	}
	return nil
}

// roles returns messages with their roles dyed: who chooses a role is the program, and
// templates write "<|" + role + "|>".
func (m *Machine) roles(v Value) (Value, error) {
	l, ok := v.(*List)
	if !ok || m.base == 0 {
		return v, nil
	}
	if err := m.AllocEach(int64(len(l.Items)), 16+64); err != nil {
		return nil, err
	}
	items, dyed := slices.Clone(l.Items), map[string]Value{} // there are few
	copies := make([]Map, len(items))
	for i, x := range items {
		d, _ := x.(*Map)
		role, ok := d.Get("role")
		s, isText := role.(string)
		if !ok || !isText {
			continue
		}
		if err := m.Alloc(16 * d.Len()); err != nil {
			return nil, err
		}
		vals := slices.Clone(d.Vals)
		if _, ok := dyed[s]; !ok {
			dyed[s] = m.dye(s)
		}
		vals[d.index["role"]] = dyed[s]
		copies[i] = Map{Keys: d.Keys, Vals: vals, index: d.index}
		items[i] = &copies[i]
	}
	return &List{Items: items}, nil
}

// dye says that the template wrote s.
func (m *Machine) dye(s string) string {
	if m == nil || m.base == 0 {
		return s
	}
	var b []byte
	done := 0
	for i, r := range s {
		if k, ok := m.sign(r); ok {
			b = utf8.AppendRune(append(b, s[done:i]...), m.base+rune(k))
			done = i + utf8.RuneLen(r)
		}
	}
	if done == 0 {
		return s
	}
	return string(append(b, s[done:]...))
}

// mark returns the character that r stands for.
func (m *Machine) mark(r rune) rune {
	if i := r - m.base; m.base > 0 && i >= 0 && int(i) < len(m.signs) {
		return m.signs[i]
	}
	return r
}

// isSpace reports whether what r stands for is white space.
func (m *Machine) isSpace(r rune) bool { return isSpace(m.mark(r)) }

// undyed returns how many bytes of s are in front of the first character that is dyed. What
// it costs is charged for; an error is that of the next [Machine.Step].
func (m *Machine) undyed(s string) int {
	if m == nil || m.base == 0 {
		return len(s)
	}
	m.steps -= int64(len(s) >> 10)
	for i := 0; ; {
		next := strings.IndexByte(s[i:], privateByte)
		if next < 0 {
			return len(s)
		}
		i += next
		r, n := utf8.DecodeRuneInString(s[i:])
		if m.mark(r) != r {
			return i
		}
		i += n
	}
}

// runs yields the pieces of s that are dyed, as they show, and those that are not.
func (m *Machine) runs(s string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for s != "" {
			n := m.undyed(s)
			if n > 0 && !yield(s[:n], false) {
				return
			}
			s = s[n:]
			var b []byte
			for s != "" {
				r, n := utf8.DecodeRuneInString(s)
				with := m.mark(r)
				if with == r {
					break
				}
				b, s = utf8.AppendRune(b, with), s[n:]
			}
			if len(b) > 0 && !yield(string(b), true) {
				return
			}
		}
	}
}

// plain returns the characters that s stands for.
func (m *Machine) plain(s string) string {
	if m.undyed(s) == len(s) {
		return s
	}
	m.steps -= int64(len(s) >> 6)
	var b strings.Builder
	b.Grow(len(s))
	for run := range m.runs(s) {
		b.WriteString(run)
	}
	return b.String()
}

// same reports whether two texts show the same.
func (m *Machine) same(s, t string) bool {
	if m.undyed(s) == len(s) && m.undyed(t) == len(t) {
		return s == t
	}
	m.steps -= int64(min(len(s), len(t)) >> 6)
	for s != "" && t != "" {
		a, i := utf8.DecodeRuneInString(s)
		b, j := utf8.DecodeRuneInString(t)
		if m.mark(a) != m.mark(b) || a == utf8.RuneError && s[:i] != t[:j] {
			return false
		}
		s, t = s[i:], t[j:]
	}
	return s == t
}

// meant is plain of a value that is a text.
func (m *Machine) meant(v Value) Value {
	if s, ok := text(v); ok && m.undyed(s) < len(s) {
		return like(v, m.plain(s))
	}
	return v
}

// takesDyed lists the functions that take texts as they are traced: they put what they are
// given into what they return, and look at characters by [Machine.plain]. All others are
// given the texts that are meant.
var takesDyed = struct{ filters, methods string }{
	filters: `batch capitalize center d default e escape first forceescape format groupby indent join last list lower map max min
		reject rejectattr replace reverse safe select selectattr slice string title tojson trim truncate unique upper wordwrap`,
	methods: `capitalize casefold center escape expandtabs format format_map fromkeys get join ljust lower lstrip partition removeprefix
		removesuffix replace rjust rpartition rsplit rstrip split splitlines strip swapcase title translate upper zfill`,
}

func markTraced() {
	mark := func(names string, tables ...map[string]*functionType) {
		for name := range strings.FieldsSeq(names) {
			for _, table := range tables {
				if f := table[name]; f != nil {
					f.dyed = true
				}
			}
		}
	}
	mark(takesDyed.filters, filters)
	mark(takesDyed.methods, stringMethods, markupMethods, dictMethods)
}

// meantAll is meant for a function's value and arguments.
func (m *Machine) meantAll(x Value, a *Args) (Value, *Args) {
	dyed := func(v Value) bool {
		s, ok := text(v)
		return ok && m.undyed(s) < len(s)
	}
	if !slices.ContainsFunc(a.Pos, dyed) && !slices.ContainsFunc(a.Named, func(k Keyword) bool { return dyed(k.Value) }) {
		return m.meant(x), a
	}
	b := &Args{Pos: slices.Clone(a.Pos), Named: slices.Clone(a.Named)}
	for i, v := range b.Pos {
		b.Pos[i] = m.meant(v)
	}
	for i := range b.Named {
		b.Named[i].Value = m.meant(b.Named[i].Value)
	}
	return m.meant(x), b
}

// through applies f, which replaces characters by others, each for itself.
func (m *Machine) through(s string, f func(string) string) string {
	if m.undyed(s) == len(s) {
		return f(s)
	}
	var b strings.Builder
	for run, ours := range m.runs(s) {
		if run = f(run); ours {
			run = m.dye(run)
		}
		b.WriteString(run)
	}
	return b.String()
}

// recase applies f, which changes cases. It loses the dye where a character becomes
// several: nowhere does one become none.
func (m *Machine) recase(s string, f func(string) string) string {
	p := m.plain(s)
	out := f(p)
	if len(p) == len(s) || utf8.RuneCountInString(out) != utf8.RuneCountInString(p) {
		return out
	}
	return m.redye(s, out, func(rune) bool { return false })
}

// redye dyes those characters of out that are dyed in s, of which it has all characters
// in order, in another case perhaps, but for added and dropped ones.
func (m *Machine) redye(s, out string, free func(rune) bool) string {
	var b strings.Builder
	for out != "" {
		r, n := utf8.DecodeRuneInString(out)
		piece := out[:n]
		out = out[n:]
		if !free(r) {
			d, n := utf8.DecodeRuneInString(s)
			for free(m.mark(d)) && n > 0 {
				s = s[n:]
				d, n = utf8.DecodeRuneInString(s)
			}
			s = s[n:]
			if m.mark(d) != d {
				piece = m.dye(piece)
			}
		}
		b.WriteString(piece)
	}
	return b.String()
}

// A shown is a text beside what it shows.
type shown struct {
	s, plain string
	at       []int32 // where each byte of plain stands in s; nil if they are the same
}

// show returns a text beside what it shows.
func (m *Machine) show(s string) (shown, error) {
	v := shown{s: s, plain: m.plain(s)}
	if len(v.plain) == len(s) {
		return v, nil
	}
	if err := m.Alloc(4 * len(v.plain)); err != nil {
		return v, err
	}
	v.at = make([]int32, 0, len(v.plain)+1)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		width := n
		if with := m.mark(r); with != r {
			width = utf8.RuneLen(with)
		}
		for k := range width {
			v.at = append(v.at, int32(i+min(k, n-1)))
		}
		i += n
	}
	v.at = append(v.at, int32(len(s)))
	return v, nil
}

// cut returns bytes i to j of what is shown, as they are in the text.
func (v shown) cut(i, j int) string {
	if v.at == nil {
		return v.s[i:j]
	}
	return v.s[v.at[i]:v.at[j]]
}

// say appends s to the rendering as it shows, and to said what the template did not write:
// every mark of such a text, and its characters next to the template's. A token that is not
// the template's alone has one of them.
func (m *interp) say(s string) {
	o := m.root
	for s != "" {
		if n := m.undyed(s); n > 0 {
			m.strange(s[:n])
			o.b.WriteString(s[:n])
			o.ours, s = false, s[n:]
		}
		for s != "" {
			r, n := utf8.DecodeRuneInString(s)
			with := m.mark(r)
			if with == r {
				break
			}
			m.ours()
			if s = s[n:]; with < utf8.RuneSelf {
				o.b.WriteByte(byte(with))
			} else {
				o.b.WriteRune(with)
			}
		}
	}
}

// ours prepares the rendering for what the template writes.
func (m *interp) ours() {
	if o := m.root; !o.ours {
		if r, n := utf8.DecodeLastRuneInString(o.b.String()); n > 0 {
			if _, ok := m.sign(r); ok {
				o.saidAt(o.b.Len() - n)
			}
		}
		o.ours = true
	}
}

// strange prepares the rendering for a text that the template did not write.
func (m *interp) strange(s string) {
	o, at := m.root, m.root.b.Len()
	if o.ours {
		r, _ := utf8.DecodeRuneInString(s)
		if _, ok := m.sign(r); ok {
			o.saidAt(at)
		}
	}
	if !utf8.RuneStart(s[0]) { // the rest of a mark, perhaps
		done := o.b.String()
		i := max(0, at-1)
		for i > max(0, at-utf8.UTFMax) && !utf8.RuneStart(done[i]) {
			i--
		}
		r, n := utf8.DecodeRuneInString(done[i:] + s[:min(len(s), utf8.UTFMax)])
		if _, ok := m.sign(r); ok && i+n > at {
			o.saidAt(i)
		}
	}
	n := 0
	for _, r := range m.marks {
		if i := strings.IndexRune(s, r); i >= 0 {
			n += strings.Count(s[i:], string(r))
		}
	}
	if n == 0 {
		return
	}
	o.said = slices.Grow(o.said, n)
	for i := 0; i < len(s); {
		if !m.lead[s[i]] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if m.isMark(r) {
			o.saidAt(at + i)
		}
		i += n
	}
}

func (o *sink) saidAt(i int) {
	if n := len(o.said); n == 0 || o.said[n-1] < i {
		o.said = append(o.said, i)
	}
}

// told returns an error of a rendering with the texts that it quotes as they are.
func (m *Machine) told(err error) error {
	switch e := err.(type) {
	case *RaiseError:
		return &RaiseError{Message: m.plain(e.Message)}
	case *RuntimeError:
		e.Msg = m.plain(e.Msg)
	}
	return err
}
