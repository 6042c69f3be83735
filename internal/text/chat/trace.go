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
// It traces only characters that control tokens have beside letters (see
// [Context.Marks]), such as "<" and "|". In the conversation those are replaced by
// private-use characters that occur nowhere in it, one for each mark, and what comes
// out of the template is read back. Through trims, slices, joins, macros and loops
// they go as any other character does. Whatever looks at characters sees the mark
// itself, by [Machine.plain] or a [shown], so that the text is the one without tracing.
type tracer struct {
	marks []rune
	base  rune // stands for marks[0], base+1 for marks[1] …
	dyed  bool // a text has been dyed
}

// The last plane of characters without a meaning, whose UTF-8 has privateLen bytes and
// begins with privateByte.
const (
	privateFirst = 0x100000
	privateLast  = 0x10fffd
	privateByte  = 0xf4
	privateLen   = 4
)

// trace prepares tracing of marks through a rendering of values.
func (m *Machine) trace(marks string, values ...Value) error {
	t := &m.tracer
	t.marks = []rune(marks)
	if len(t.marks) == 0 {
		return nil
	}
	slices.Sort(t.marks)
	t.marks = slices.Compact(t.marks)
	var taken []rune
	for _, v := range values {
		if err := m.texts(v, 0, func(s string) {
			if strings.IndexByte(s, privateByte) < 0 {
				return
			}
			for _, r := range s {
				if r >= privateFirst {
					taken = append(taken, r)
				}
			}
		}); err != nil {
			return err
		}
	}
	slices.Sort(taken)
	t.base = privateFirst
	for _, r := range taken {
		if r >= t.base+rune(len(t.marks)) {
			break
		}
		t.base = r + 1
	}
	if t.base+rune(len(t.marks)) > privateLast {
		return ValueError("the conversation has every character of private use, of which none has a meaning")
	}
	return nil
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
	switch v := v.(type) {
	case string:
		return m.dye(v), m.Read(v)
	case Markup:
		return Markup(m.dye(string(v))), m.Read(string(v))
	case *List:
		items, err := m.saidAll(v.Items)
		if err != nil || items == nil {
			return v, err
		}
		return &List{Items: items}, nil
	case *Tuple:
		items, err := m.saidAll(v.Items)
		if err != nil || items == nil {
			return v, err
		}
		return &Tuple{Items: items, Fields: v.Fields}, nil
	case *Map:
		if v == nil {
			return v, nil
		}
		keys, err := m.saidAll(v.Keys)
		if err != nil {
			return nil, err
		}
		vals, err := m.saidAll(v.Vals)
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

// saidAll is said for each of a list: nil if nothing changes.
func (m *Machine) saidAll(items []Value) (changed []Value, err error) {
	for i, x := range items {
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

// dye replaces the marks in s.
func (m *Machine) dye(s string) string {
	if m.base == 0 || !slices.ContainsFunc(m.marks, func(r rune) bool { return strings.ContainsRune(s, r) }) {
		return s
	}
	var b []byte
	done := 0
	for i, r := range s {
		if k, ok := slices.BinarySearch(m.marks, r); ok {
			m.dyed = true
			b = utf8.AppendRune(append(b, s[done:i]...), m.base+rune(k))
			done = i + utf8.RuneLen(r)
		}
	}
	return string(append(b, s[done:]...))
}

// plain returns s with the marks as they are.
func (m *Machine) plain(s string) string {
	if m == nil || !m.dyed || strings.IndexByte(s, privateByte) < 0 {
		return s
	}
	var b []byte
	done := 0
	for i, r := range m.dyes(s) {
		b = utf8.AppendRune(append(b, s[done:i]...), r)
		done = i + privateLen
	}
	if b == nil {
		return s
	}
	return string(append(b, s[done:]...))
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
	if i := r - m.base; m.dyed && i >= 0 && int(i) < len(m.marks) {
		return m.marks[i]
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

// finish returns the text of a rendering, and where in it are marks that the
// conversation said.
func (m *Machine) finish(s string) (text string, said []int) {
	if len(m.marks) == 0 {
		return s, nil
	}
	text, said = m.plain(s), []int{}
	less := 0 // bytes that text has less so far
	for i, r := range m.dyes(s) {
		said = append(said, i-less)
		less += privateLen - utf8.RuneLen(r)
	}
	return text, said
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
