package grammar

import "context"

// A Check is what the enforcement of one schema or grammar comes to, without a model:
// the tokens are single bytes, so the language is the one that every model's answers are
// kept to.
type Check struct {
	a *Automaton
}

// NewCheck compiles a JSON Schema within what a request may take. What cannot be
// enforced is an [*Error]; [Unenforced] has all of them.
func NewCheck(ctx context.Context, schema []byte) (*Check, error) {
	b := NewBudget(ctx, CompileTime)
	g, err := FromSchema(b, schema)
	if err != nil {
		return nil, err
	}
	a, err := NewVocabulary(oneByte(), nil, false).Compile(b, g)
	if err != nil {
		return nil, err
	}
	return &Check{a}, nil
}

// Admits reports whether an answer can be this text.
func (c *Check) Admits(text string) (bool, error) { return c.a.Accepts(text) }

// States returns how many states the schema became, before any text was read.
func (c *Check) States() int { return len(c.a.net.nodes) }

// Unenforced returns what of a schema cannot be enforced, in the order of the text; nil if
// err is about something else.
func Unenforced(err error) []*Error {
	if e, ok := err.(*Error); ok {
		return append([]*Error{e}, e.more...)
	}
	return nil
}

// Spaced returns a JSON value as programs usually write it: its members in their order, a
// space behind each comma and colon, and each character in its usual form.
func Spaced(source []byte) (string, error) {
	v, err := readJSON(source)
	if err != nil {
		return "", err
	}
	return string(v.write(nil, " ")), nil
}
