package chat

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// A text of a conversation must not become a control token: a model would read
// "<|im_end|>" in a message as the end of that message. So a rendering can tell
// which characters of its result the conversation said and which the template wrote.
//
// It traces only characters that control tokens have beside words (see [Control]), such
// as "<" and "|". In the conversation those are replaced by private-use characters that
// occur nowhere in it, one for each mark, and what comes out of the template is read
// back. Through trims, slices, joins, macros and loops they go as any other character
// does. Whatever looks at characters sees the mark itself, by [Machine.plain] or a
// [shown], so that the text is the one without tracing.
//
// Of a template that may write marks of its own around a word, such as "<" + key + ">",
// the first letters of words are traced, too, that control tokens have between marks: all
// but those of the roles of messages, which are the program's.
type tracer struct {
	*Control      // nil: nothing is traced
	base     rune // stands for signs[0], base+1 for signs[1] …
	within   bool // the template may write marks around words
	roles    bool // the next value is the messages
	level    int  // of the value that is replaced
	dyed     bool // a text has been dyed
}

// The last plane of characters without a meaning, whose UTF-8 has privateLen bytes and
// begins with privateByte.
const (
	privateFirst = 0x100000
	privateLast  = 0x10fffd
	privateByte  = 0xf4
	privateLen   = 4
)

// inMessage is the depth of a message among the messages.
const inMessage = 2

// trace prepares tracing of values through a rendering; own are the model's variables.
func (m *Machine) trace(t *Template, c *Control, own *Map, values ...Value) error {
	if c == nil {
		return nil
	}
	w := t.wrapping(c)
	m.Control, m.within = c, w.words
	first := c.firsts // what somebody has to have said
	if w.begins {
		first = c.marks
	}
	found := m.within
	look := func(f func(string), values ...Value) error {
		for _, v := range values {
			if err := m.texts(v, 0, f); err != nil {
				return err
			}
		}
		return nil
	}
	if err := look(func(s string) { found = found || anyOf(s, first) }, values...); err != nil || !found {
		return err // or nothing can become a control token
	}
	var taken []rune
	take := func(s string) {
		if strings.IndexByte(s, privateByte) < 0 {
			return
		}
		for _, r := range s {
			if r >= privateFirst {
				taken = append(taken, r)
			}
		}
	}
	take(t.own)
	if err := look(take, append(values, own)...); err != nil {
		return err
	}
	slices.Sort(taken)
	m.base = privateFirst
	for _, r := range taken {
		if r >= m.base+rune(len(m.signs)) {
			break
		}
		m.base = r + 1
	}
	if m.base+rune(len(m.signs)) > privateLast {
		return ValueError("the conversation has every character of private use, of which none has a meaning")
	}
	return nil
}

// anyOf reports whether a text has one of some characters.
func anyOf(s string, chars []rune) bool {
	for _, r := range chars {
		if r < utf8.RuneSelf && strings.IndexByte(s, byte(r)) >= 0 || r >= utf8.RuneSelf && strings.ContainsRune(s, r) {
			return true
		}
	}
	return false
}

// texts calls f for each text of a value: those that keys are, too.
func (m *Machine) texts(v Value, depth int, f func(string)) error {
	if depth > MaxNesting {
		return ErrNested()
	}
	items := []Value(nil)
	switch v := v.(type) {
	case string:
		f(v)
	case Markup:
		f(string(v))
	case *List:
		items = v.Items
	case *Tuple:
		items = v.Items
	case *Map:
		if v == nil {
			return nil
		}
		for _, k := range v.Keys {
			if err := m.texts(k, depth+1, f); err != nil {
				return err
			}
		}
		items = v.Vals
	}
	for _, x := range items {
		if err := m.texts(x, depth+1, f); err != nil {
			return err
		}
	}
	return nil
}

// said returns a value of the conversation with its marks replaced: itself if it has none.
func (m *Machine) said(v Value) (Value, error) {
	if m.base == 0 {
		return v, nil
	}
	m.level++
	defer func() { m.level-- }()
	whole := v
	switch v := v.(type) {
	case string:
		if d := m.dye(v); d != v {
			whole = d
		}
		return whole, m.Read(v)
	case Markup:
		return Markup(m.dye(string(v))), m.Read(string(v))
	case *List:
		items, err := m.saidAll(v.Items, nil)
		if err != nil || items == nil {
			return v, err
		}
		return &List{Items: items}, nil
	case *Tuple:
		items, err := m.saidAll(v.Items, nil)
		if err != nil || items == nil {
			return v, err
		}
		return &Tuple{Items: items, Fields: v.Fields}, nil
	case *Map:
		if v == nil {
			return v, nil
		}
		keys, err := m.saidAll(v.Keys, nil)
		if err != nil {
			return nil, err
		}
		vals, err := m.saidAll(v.Vals, v.Keys)
		if err != nil || keys == nil && vals == nil {
			return v, err
		}
		if keys == nil {
			keys = v.Keys
		}
		if vals == nil {
			vals = v.Vals
		}
		return &Map{Keys: keys, Vals: vals, index: v.index}, nil
	}
	return v, nil
}

// saidAll is said for each of a list, or of what a map has for keys: nil if nothing
// changes.
func (m *Machine) saidAll(items, keys []Value) (changed []Value, err error) {
	within := m.within
	defer func() { m.within = within }()
	for i, x := range items {
		m.within = within && !(m.roles && m.level == inMessage && keys != nil && keys[i] == "role")
		y, err := m.said(x)
		if err != nil {
			return nil, err
		}
		if changed == nil && same(x, y) {
			continue
		}
		if changed == nil {
			if err := m.AllocEach(int64(len(items)), 16); err != nil {
				return nil, err
			}
			changed = slices.Clone(items)
		}
		changed[i] = y
	}
	return changed, nil
}

// same reports whether said returned the value that it was given.
func same(x, y Value) bool {
	switch x := x.(type) {
	case string:
		return x == y.(string)
	case Markup:
		return x == y.(Markup)
	case *List, *Tuple, *Map:
		return x == y
	}
	return true
}

// dye replaces the marks in s, and the first letters of words that tokens have.
func (m *Machine) dye(s string) string {
	if m.base == 0 || !m.within && !anyOf(s, m.marks) {
		return s
	}
	var b []byte
	done := 0
	dye := func(i int, r rune) {
		k, ok := slices.BinarySearch(m.signs, r)
		if !ok {
			return // a letter whose small letter a token has
		}
		m.dyed = true
		b = utf8.AppendRune(append(b, s[done:i]...), m.base+rune(k))
		done = i + utf8.RuneLen(r)
	}
	word := -1 // where the word begins
	end := func(i int) {
		if word >= 0 && m.part(s[word:i]) {
			r, _ := utf8.DecodeRuneInString(s[word:])
			dye(word, r)
		}
		word = -1
	}
	for i, r := range s {
		switch {
		case m.within && inWord(r):
			if word < 0 {
				word = i
			}
		default:
			end(i)
			if m.isMark(r) {
				dye(i, r)
			}
		}
	}
	end(len(s))
	return string(append(b, s[done:]...))
}

// plain returns s with the marks as they are.
func (m *Machine) plain(s string) string {
	if m == nil || !m.dyed || strings.IndexByte(s, privateByte) < 0 {
		return s
	}
	p, _ := m.shows(s)
	return p
}

// shows is plain, and returns where in it are the characters that were replaced.
func (m *Machine) shows(s string) (plain string, said []int) {
	var b strings.Builder
	said = []int{}
	done := 0
	for i, r := range m.dyes(s) {
		if done == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[done:i])
		said = append(said, b.Len())
		b.WriteRune(r)
		done = i + privateLen
	}
	if done == 0 {
		return s, said
	}
	b.WriteString(s[done:])
	return b.String(), said
}

// dyes yields where in s a character stands for a mark, and the mark.
func (m *Machine) dyes(s string) iter.Seq2[int, rune] {
	return func(yield func(int, rune) bool) {
		for i := 0; m.dyed; {
			next := strings.IndexByte(s[i:], privateByte)
			if next < 0 {
				return
			}
			i += next
			r, n := utf8.DecodeRuneInString(s[i:])
			if with := m.mark(r); with != r && !yield(i, with) {
				return
			}
			i += n
		}
	}
}

// mark returns the character that r stands for.
func (m *Machine) mark(r rune) rune {
	if i := r - m.base; m.dyed && i >= 0 && int(i) < len(m.signs) {
		return m.signs[i]
	}
	return r
}

// through applies f, which replaces characters by others, to what s shows: marks in the
// result are said by the conversation if any in s is.
func (m *Machine) through(s string, f func(string) string) string {
	p := m.plain(s)
	if len(p) == len(s) {
		return f(s)
	}
	return m.dye(f(p))
}

// recase applies f, which changes cases, to what s shows.
func (m *Machine) recase(s string, f func(string) string) string {
	p := m.plain(s)
	if len(p) == len(s) || !m.within {
		return f(s) // marks have no case
	}
	out := []rune(f(p))
	if len(out) != utf8.RuneCountInString(p) {
		return m.dye(string(out))
	}
	i := 0
	for _, r := range s {
		if m.mark(r) != r {
			if k, ok := slices.BinarySearch(m.signs, out[i]); ok {
				out[i] = m.base + rune(k)
			}
		}
		i++
	}
	return string(out)
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

// finish returns the text of a rendering, and where in it is what the conversation
// said of those that are traced.
func (m *Machine) finish(s string) (text string, said []int) {
	if m.Control == nil {
		return s, nil
	}
	return m.shows(s)
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
