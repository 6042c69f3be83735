package chat

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// partBytes is what a part of a text costs: its header in a list that grows, its
// value and the list's entry.
const partBytes = 80

// texts collects parts of a text, each charged for before it is kept.
type texts struct {
	m    *Machine
	list []string
}

func (t *texts) add(s string) error {
	if err := t.m.Alloc(partBytes); err != nil {
		return err
	}
	t.list = append(t.list, s)
	return nil
}

// values makes a list of strings of the kind of model.
func (t *texts) values(model Value) Value {
	items := make([]Value, len(t.list))
	for i, p := range t.list {
		items[i] = like(model, p)
	}
	return &List{Items: items}
}

func splitArgs(m *Machine, x Value, a []Value) (s, sep string, given bool, limit int, err error) {
	s, _ = text(x)
	if sep, given, err = argText("split", "sep", a[0]); err != nil {
		return
	}
	if given && sep == "" {
		err = valueError("empty separator")
		return
	}
	if limit, err = intArg("split", a[1], -1); err != nil {
		return
	}
	if limit < 0 {
		limit = len(s) + 1
	}
	err = m.Read(s)
	return
}

func splitMethod(m *Machine, x Value, a []Value) (Value, error) {
	s, sep, given, limit, err := splitArgs(m, x, a)
	if err != nil {
		return nil, err
	}
	parts := texts{m: m}
	if given {
		v, err := m.show(s)
		if err != nil {
			return nil, err
		}
		sep, at := m.plain(sep), 0
		for range limit {
			i := strings.Index(v.plain[at:], sep)
			if i < 0 {
				break
			}
			if err := parts.add(v.cut(at, at+i)); err != nil {
				return nil, err
			}
			at += i + len(sep)
		}
		if err := parts.add(v.cut(at, len(v.plain))); err != nil {
			return nil, err
		}
		return parts.values(x), nil
	}
	for s = strings.TrimLeftFunc(s, m.isSpace); s != ""; s = strings.TrimLeftFunc(s, m.isSpace) {
		i := strings.IndexFunc(s, m.isSpace)
		if len(parts.list) == limit || i < 0 {
			i = len(s)
		}
		if err := parts.add(s[:i]); err != nil {
			return nil, err
		}
		s = s[i:]
	}
	return parts.values(x), nil
}

func rsplitMethod(m *Machine, x Value, a []Value) (Value, error) {
	s, sep, given, limit, err := splitArgs(m, x, a)
	if err != nil {
		return nil, err
	}
	parts := texts{m: m} // from the right
	if given {
		v, err := m.show(s)
		if err != nil {
			return nil, err
		}
		sep, end := m.plain(sep), len(v.plain)
		for range limit {
			i := strings.LastIndex(v.plain[:end], sep)
			if i < 0 {
				break
			}
			if err := parts.add(v.cut(i+len(sep), end)); err != nil {
				return nil, err
			}
			end = i
		}
		if err := parts.add(v.cut(0, end)); err != nil {
			return nil, err
		}
	} else {
		for s = strings.TrimRightFunc(s, m.isSpace); s != ""; s = strings.TrimRightFunc(s, m.isSpace) {
			i, n := strings.LastIndexFunc(s, m.isSpace), 0
			if len(parts.list) == limit || i < 0 {
				i = 0
			} else {
				_, n = utf8.DecodeRuneInString(s[i:])
			}
			if err := parts.add(s[i+n:]); err != nil {
				return nil, err
			}
			s = s[:i]
		}
	}
	slices.Reverse(parts.list)
	return parts.values(x), nil
}

// isBreak reports a character that ends a line.
func isBreak(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

// lines splits where str.splitlines does.
func (t *texts) lines(s string, keep bool) error {
	if err := t.m.Read(s); err != nil {
		return err
	}
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return isBreak(t.m.mark(r)) })
		if i < 0 {
			return t.add(s)
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if next, k := utf8.DecodeRuneInString(s[i+n:]); t.m.mark(r) == '\r' && t.m.mark(next) == '\n' {
			n += k
		}
		end := i
		if keep {
			end += n
		}
		if err := t.add(s[:end]); err != nil {
			return err
		}
		s = s[i+n:]
	}
	return nil
}

func splitlinesMethod(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	keep, err := intArg("splitlines", a[0], 0)
	if err != nil {
		return nil, err
	}
	t := texts{m: m}
	if err := t.lines(s, keep != 0); err != nil {
		return nil, err
	}
	return t.values(x), nil
}

func sepArg(a []Value) (string, error) {
	sep, ok, err := argText("partition", "sep", a[0])
	if err == nil && !ok {
		err = typeError("must be str, not %s", typeName(a[0]))
	}
	if err == nil && sep == "" {
		err = valueError("empty separator")
	}
	return sep, err
}

func partition(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	sep, err := sepArg(a)
	if err != nil {
		return nil, err
	}
	if i := strings.Index(m.plain(s), m.plain(sep)); i >= 0 {
		return parted(m, x, i, sep)
	}
	return &Tuple{Items: []Value{like(x, s), like(x, ""), like(x, "")}}, m.Alloc(len(s))
}

func rpartition(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	sep, err := sepArg(a)
	if err != nil {
		return nil, err
	}
	if i := strings.LastIndex(m.plain(s), m.plain(sep)); i >= 0 {
		return parted(m, x, i, sep)
	}
	return &Tuple{Items: []Value{like(x, ""), like(x, ""), like(x, s)}}, m.Alloc(len(s))
}

// parted is x in front of sep, sep, and x behind it, where sep is at byte i of what is shown.
func parted(m *Machine, x Value, i int, sep string) (Value, error) {
	s, _ := text(x)
	v, err := m.show(s)
	if err != nil {
		return nil, err
	}
	after := v.cut(i+len(m.plain(sep)), len(v.plain))
	return &Tuple{Items: []Value{like(x, v.cut(0, i)), like(x, sep), like(x, after)}}, m.Alloc(len(s))
}
