package grad

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrText matches every [ParseError].
var ErrText = errors.New("not a tape's text")

// A ParseError says where a text is not a valid listing.
type ParseError struct {
	Line   int // from 1
	Detail string
}

// Error implements error.
func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Detail) }

// Is reports whether target is [ErrText].
func (e *ParseError) Is(target error) bool { return target == ErrText }

// ParseListing reads what [Listing.String] prints. It checks that lines are
// well formed and that buffers are defined before their use, not that shapes
// fit. The error is a *ParseError.
func ParseListing(text string) (*Listing, error) {
	l := &Listing{}
	known := map[Ref]bool{0: true}
	i := 0
	for line := range strings.Lines(text) {
		i++
		line, ended := strings.CutSuffix(line, "\n")
		err := errors.New("no end of line")
		switch {
		case !ended:
		case i == 1:
			err = l.head(line)
		default:
			var n Line
			if n, err = parseLine(line, known); err == nil {
				l.Lines = append(l.Lines, n)
			}
		}
		if err != nil {
			return nil, &ParseError{Line: i, Detail: err.Error()}
		}
	}
	if i == 0 {
		return nil, &ParseError{Line: 1, Detail: "empty"}
	}
	return l, nil
}

func (l *Listing) head(line string) error {
	f := strings.Split(line, " ")
	if len(f) < 2 || len(f) > 3 || f[0] != "tape" || f[1] != "float32" && f[1] != "float64" || len(f) == 3 && f[2] != "recording" {
		return errors.New(`want "tape float32 recording" or the like`)
	}
	l.Type, l.Recording = f[1], len(f) == 3
	return nil
}

// A scanner parses a line from left to right.
type scanner struct{ rest string }

func (s *scanner) eat(prefix string) (ok bool) {
	s.rest, ok = strings.CutPrefix(s.rest, prefix)
	return ok
}

func (s *scanner) expect(prefix string) error {
	if !s.eat(prefix) {
		return fmt.Errorf("want %q before %q", prefix, s.rest)
	}
	return nil
}

// until returns the text before the first of the given bytes, or the end.
func (s *scanner) until(stops string) string {
	n := strings.IndexAny(s.rest, stops)
	if n < 0 {
		n = len(s.rest)
	}
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

// number reads an integer as it would be printed.
func (s *scanner) number(stops string) (int, error) {
	word := s.until(stops)
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || strconv.Itoa(int(n)) != word {
		return 0, fmt.Errorf("%q is not a number", word)
	}
	return int(n), nil
}

func (s *scanner) refs(known map[Ref]bool) ([]Ref, error) {
	var out []Ref
	for s.eat("%") {
		n, err := s.number(",;) ")
		if err != nil {
			return nil, err
		}
		if n < 0 || !known[Ref(n)] {
			return nil, fmt.Errorf("%%%d is used before it is defined", n)
		}
		out = append(out, Ref(n))
		if !s.eat(", ") {
			break
		}
		if !strings.HasPrefix(s.rest, "%") {
			return nil, fmt.Errorf("want a buffer before %q", s.rest)
		}
	}
	return out, nil
}

func parseLine(line string, known map[Ref]bool) (n Line, err error) {
	s := &scanner{line}
	for strings.HasPrefix(s.rest, "%") {
		r, err := s.result(known)
		if err != nil {
			return n, err
		}
		n.Results = append(n.Results, r)
		if !s.eat(", ") {
			if err := s.expect(" "); err != nil {
				return n, err
			}
			break
		}
		if !strings.HasPrefix(s.rest, "%") {
			return n, fmt.Errorf("want a buffer before %q", s.rest)
		}
	}
	if err := s.expect("= "); err != nil {
		return n, err
	}
	n.Op = s.until(" (")
	if !isName(n.Op) {
		return n, fmt.Errorf("no operation %q", n.Op)
	}
	if strings.HasPrefix(s.rest, ` "`) {
		s.eat(" ")
		quoted, err := strconv.QuotedPrefix(s.rest)
		if err != nil {
			return n, err
		}
		key, err := strconv.Unquote(quoted)
		if err != nil || key == "" || strconv.Quote(key) != quoted {
			return n, fmt.Errorf("no key: %s", quoted)
		}
		n.Key = Key(key)
		s.eat(quoted)
		if !strings.HasPrefix(s.rest, "(") {
			return n, errors.New("want the operands of an opaque operation")
		}
	}
	if err := n.operands(s, known); err != nil {
		return n, err
	}
	if err := n.constants(s); err != nil {
		return n, err
	}
	for _, r := range n.Results {
		known[r.Ref] = true
	}
	return n, nil
}

// isName reports whether the tape prints this word for a buffer or operation.
func isName(word string) bool {
	if slices.Contains(roleNames[1:], word) {
		return true
	}
	for _, r := range rules[float64]() {
		if r.name == word && word != "" {
			return true
		}
	}
	return false
}

func (s *scanner) result(known map[Ref]bool) (r Result, err error) {
	s.eat("%")
	n, err := s.number(" ")
	if err != nil {
		return r, err
	}
	if n <= 0 {
		return r, fmt.Errorf("%%%d cannot be defined here", n)
	}
	r.Ref = Ref(n)
	if err := s.expect(" ["); err != nil {
		return r, err
	}
	r.Shape = []int{}
	for !s.eat("]") {
		if len(r.Shape) > 0 {
			if err := s.expect(" "); err != nil {
				return r, err
			}
		}
		d, err := s.number(" ]")
		if err != nil {
			return r, err
		}
		r.Shape = append(r.Shape, d)
	}
	if _, ok := checked(r.Shape); !ok {
		return r, fmt.Errorf("no shape: %v", r.Shape)
	}
	r.Grad = s.eat(" grad")
	return r, nil
}

func (n *Line) operands(s *scanner, known map[Ref]bool) (err error) {
	if !s.eat("(") {
		return nil
	}
	if n.In, err = s.refs(known); err != nil {
		return err
	}
	if s.eat("; ") {
		if n.Saved, err = s.refs(known); err == nil && len(n.Saved) == 0 {
			err = errors.New("want a buffer after the semicolon")
		}
		if err != nil {
			return err
		}
	}
	if len(n.In) == 0 && len(n.Saved) == 0 && n.Key == "" {
		return errors.New("want operands")
	}
	return s.expect(")")
}

func (n *Line) constants(s *scanner) error {
	for s.rest != "" {
		if n.Numbers != nil {
			return fmt.Errorf("unexpected %q after the numbers", s.rest)
		}
		if err := s.expect(" "); err != nil {
			return err
		}
		name := s.until("=")
		if err := s.expect("="); err != nil {
			return err
		}
		if name == "numbers" {
			if err := n.numbers(s); err != nil {
				return err
			}
			continue
		}
		word := s.until(" ")
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || strconv.FormatFloat(v, 'g', -1, 64) != word || name == "" || strings.ContainsAny(name, " (") {
			return fmt.Errorf("no constant: %s=%s", name, word)
		}
		n.Args = append(n.Args, Arg{name, v})
	}
	return nil
}

func (n *Line) numbers(s *scanner) error {
	if err := s.expect("["); err != nil {
		return err
	}
	n.Numbers = []int32{}
	for !s.eat("]") {
		if len(n.Numbers) > 0 {
			if err := s.expect(","); err != nil {
				return err
			}
		}
		d, err := s.number(",]")
		if err != nil {
			return err
		}
		n.Numbers = append(n.Numbers, int32(d))
	}
	return nil
}
