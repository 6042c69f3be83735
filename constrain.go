package atenia

import (
	"atenia/internal/sample"
	"atenia/internal/text"
)

// A GrammarError says what of [Options].Schema or [Options].Grammar cannot be
// used. It comes before the request is queued.
type GrammarError struct {
	Pointer string // into the schema, as in RFC 6901; "" is its root
	Offset  int    // byte of the grammar
	Why     string
	Err     error // the same in the compiler's words
}

// Error implements error.
func (e *GrammarError) Error() string { return (*text.GrammarError)(e).Error() }

// Unwrap returns Err.
func (e *GrammarError) Unwrap() error { return e.Err }

// constrain returns what makes the constraint of an answer from the schema or
// grammar of o, nil if it has none.
func (m *Model) constrain(o *Options) (func() sample.Constraint, error) {
	switch {
	case o.Schema == nil && o.Grammar == "":
		return nil, nil
	case o.Schema != nil && o.Grammar != "":
		return nil, &ConfigError{"Schema", nil, "a schema or a grammar, not both"}
	case m.text.Tokenizer == nil:
		return nil, m.textErr
	}
	return m.grammars.Constrain(m.text, m.engine.Plan.Model.Config.Vocab, o.Schema, o.Grammar)
}
