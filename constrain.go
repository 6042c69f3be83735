package atenia

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"atenia/internal/sample"
)

// A GrammarError says what of [Options].Schema or [Options].Grammar cannot be
// used. It comes before the request is queued. One that is too much to compile says
// where that was found, and after how many states and how long: 262,144 states and ten
// seconds are the most. Whoever waits for it may cancel the context.
type GrammarError struct {
	// Tool is the name of the one of [Conversation].Tools whose Parameters Pointer is into;
	// [AnyTool] = all of them are too much together. "" = it is about Schema or Grammar.
	Tool    string
	Pointer string // into the schema, as in RFC 6901; "" is its root
	Offset  int    // byte of the grammar
	Why     string
	Err     error // the same in the compiler's words
	// States and Took are how far compiling it came before it exceeded what it may take;
	// 0 = something else is wrong.
	States int
	Took   time.Duration
}

// Error implements error.
func (e *GrammarError) Error() string {
	if e.Tool == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("the parameters of the tool %q: at %s: %s", e.Tool, cmp.Or(e.Pointer, "/"), e.Why)
}

// Unwrap returns Err.
func (e *GrammarError) Unwrap() error { return e.Err }

// constrain returns what makes the constraint of an answer from the schema or
// grammar of o, nil if it has none.
func (m *Model) constrain(ctx context.Context, o *Options) (func() sample.Constraint, error) {
	switch {
	case o.Schema == nil && o.Grammar == "":
		return nil, nil
	case o.Schema != nil && o.Grammar != "":
		return nil, &ConfigError{"Schema", nil, "a schema or a grammar, not both"}
	case m.text.Tokenizer == nil:
		return nil, m.textErr
	}
	return m.grammars.Constrain(ctx, m.text, m.engine.Plan.Model.Config.Vocab, o.Schema, o.Grammar)
}
