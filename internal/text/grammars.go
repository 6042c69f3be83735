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
	mu   sync.Mutex // is not held while one is compiled, which may take seconds
	kept []*keptGrammar

	making sync.Mutex
	vocab  *grammar.Vocabulary // once one was asked for
}

type keptGrammar struct {
	key  string
	done chan struct{} // closed when it is compiled
	a    *grammar.Automaton
	err  error
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
	if i := slices.IndexFunc(g.kept, func(k *keptGrammar) bool { return k.key == key }); i >= 0 {
		k := g.kept[i]
		copy(g.kept[1:i+1], g.kept[:i])
		g.kept[0] = k
		g.mu.Unlock()
		<-k.done
		return k.a, k.err
	}
	k := &keptGrammar{key: key, done: make(chan struct{}), err: errors.New("compiling it panicked")}
	g.kept = slices.Insert(g.kept, 0, k)
	g.kept = g.kept[:min(len(g.kept), grammarsKept)]
	g.mu.Unlock()
	defer func() {
		close(k.done)
		if k.err == nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.kept = slices.DeleteFunc(g.kept, func(x *keptGrammar) bool { return x == k })
	}()
	k.a, k.err = g.compile(t, vocab, schema, gbnf)
	return k.a, k.err
}

func (g *Grammars) compile(t *Text, vocab int, schema []byte, gbnf string) (*grammar.Automaton, error) {
	v, err := g.vocabulary(t, vocab)
	if err != nil {
		return nil, err
	}
	var parsed *grammar.Grammar
	if schema != nil {
		parsed, err = grammar.FromSchema(schema)
	} else {
		parsed, err = grammar.Parse(gbnf)
	}
	if err != nil {
		return nil, err
	}
	return v.Compile(parsed)
}

// vocabulary returns what the model's tokens write.
func (g *Grammars) vocabulary(t *Text, vocab int) (*grammar.Vocabulary, error) {
	g.making.Lock()
	defer g.making.Unlock()
	if g.vocab == nil {
		tokens, trims, err := t.Tokenizer.Written()
		if err != nil {
			return nil, err
		}
		tokens = tokens[:min(len(tokens), vocab)]
		tokens = append(tokens, make([][]byte, vocab-len(tokens))...)
		g.vocab = grammar.NewVocabulary(tokens, t.Stop, trims)
	}
	return g.vocab, nil
}
