package text

import (
	"errors"
	"slices"
	"sync"

	"atenia/internal/grammar"
	"atenia/internal/sample"
)

// A GrammarError says what of a schema or a grammar cannot be used.
type GrammarError struct {
	Pointer string // into the schema, as in RFC 6901; "" is its root
	Offset  int    // byte of the grammar
	Why     string
	Err     error // of the compiler
}

func (e *GrammarError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the compiler.
func (e *GrammarError) Unwrap() error { return e.Err }

// Grammars keeps what the schemas and grammars of a model were compiled to, those
// used last first. The zero value is ready; it is safe for concurrent use.
type Grammars struct {
	mu    sync.Mutex
	vocab *grammar.Vocabulary // once one was asked for
	kept  []keptGrammar
}

type keptGrammar struct {
	key string
	a   *grammar.Automaton
}

// grammarsKept is how many compiled grammars are kept; each holds up to 16 MiB
// of masks at a vocabulary of 128,000 tokens.
const grammarsKept = 16

// Constrain returns a function that makes what keeps one answer to a JSON Schema, or if that is nil, to
// a grammar in GBNF. vocab is the number of the model's logits, which may exceed
// that of the tokens. What cannot be used is a [*GrammarError].
func (g *Grammars) Constrain(t *Text, vocab int, schema []byte, gbnf string) (func() sample.Constraint, error) {
	a, err := g.automaton(t, vocab, schema, gbnf)
	if err == nil {
		return func() sample.Constraint { return a.Start() }, nil
	}
	out := &GrammarError{Why: err.Error(), Err: err}
	if e, ok := errors.AsType[*grammar.Error](err); ok {
		out.Pointer, out.Offset, out.Why = e.Pointer, e.Offset, e.Why
	}
	return nil, out
}

func (g *Grammars) automaton(t *Text, vocab int, schema []byte, gbnf string) (*grammar.Automaton, error) {
	key := "g" + gbnf
	if schema != nil {
		key = "s" + string(schema)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.kept, func(k keptGrammar) bool { return k.key == key }); i >= 0 {
		k := g.kept[i]
		copy(g.kept[1:i+1], g.kept[:i])
		g.kept[0] = k
		return k.a, nil
	}
	if g.vocab == nil {
		tokens, trims, err := t.Tokenizer.Written()
		if err != nil {
			return nil, err
		}
		tokens = tokens[:min(len(tokens), vocab)]
		tokens = append(tokens, make([][]byte, vocab-len(tokens))...)
		g.vocab = grammar.NewVocabulary(tokens, t.Stop, trims)
	}
	var parsed *grammar.Grammar
	var err error
	if schema != nil {
		parsed, err = grammar.FromSchema(schema)
	} else {
		parsed, err = grammar.Parse(gbnf)
	}
	if err != nil {
		return nil, err
	}
	a, err := g.vocab.Compile(parsed)
	if err != nil {
		return nil, err
	}
	g.kept = slices.Insert(g.kept, 0, keptGrammar{key, a})
	g.kept = g.kept[:min(len(g.kept), grammarsKept)]
	return a, nil
}
