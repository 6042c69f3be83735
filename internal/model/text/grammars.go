package text

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"atenia/internal/fault"
	"atenia/internal/grammar"
	"atenia/internal/sample"
)

// A GrammarError says what of a schema or a grammar cannot be used.
type GrammarError struct {
	Pointer string // into the schema, as in RFC 6901; "" is its root
	Offset  int    // byte of the grammar
	Why     string
	Err     error // of the compiler
	// States and Took are what was made of it, and for how long, until it exceeded what
	// compiling may take; 0 = something else is wrong with it.
	States int
	Took   time.Duration
}

func (e *GrammarError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the compiler.
func (e *GrammarError) Unwrap() error { return e.Err }

// Regex returns a grammar in GBNF of the texts that a regular expression matches whole.
func Regex(pattern string) (string, error) {
	g, err := grammar.FromRegex(grammar.NewBudget(context.Background(), grammar.CompileTime), pattern)
	if err != nil {
		return "", err
	}
	return g.String(), nil
}

// Grammars keeps what the schemas and grammars of a model were compiled to, those
// used last first. The zero value is ready; it is safe for concurrent use.
type Grammars struct {
	mu   sync.Mutex // is not held while one is compiled, which may take seconds
	kept []*keptGrammar

	making sync.Mutex
	vocab  *grammar.Vocabulary // once one was asked for
}

type keptGrammar struct {
	key     string
	waiting int                // who wait for it; when the last one leaves, it is not compiled further
	stop    context.CancelFunc // of compiling it
	done    chan struct{}      // closed when it is compiled
	a       *grammar.Automaton
	err     error
}

// grammarsKept is how many compiled grammars are kept; each holds up to 16 MiB
// of masks at a vocabulary of 128,000 tokens.
const grammarsKept = 16

// Constrain returns a function that makes what keeps one answer to a JSON Schema, or if that is nil, to
// a grammar in GBNF. vocab is the number of the model's logits, which may exceed
// that of the tokens. What cannot be used is a [*GrammarError]. When ctx is cancelled,
// it returns the cause at once, and what nobody else waits for is not compiled further.
func (g *Grammars) Constrain(ctx context.Context, t *Text, vocab int, schema []byte, gbnf string) (func() sample.Constraint, error) {
	a, err := g.automaton(ctx, t, vocab, schema, gbnf)
	if err == nil {
		return func() sample.Constraint { return a.Start() }, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := &GrammarError{Why: err.Error(), Err: err}
	if e, ok := errors.AsType[*grammar.Error](err); ok {
		out.Pointer, out.Offset, out.Why = e.Pointer, e.Offset, e.Why
	} else if e, ok := errors.AsType[*grammar.LimitError](err); ok && e.Took > 0 {
		out.Pointer, out.Offset, out.Why, out.States, out.Took = e.Pointer, e.Offset, e.Why(), e.States, e.Took
	}
	return nil, out
}

func (g *Grammars) automaton(ctx context.Context, t *Text, vocab int, schema []byte, gbnf string) (*grammar.Automaton, error) {
	k := g.join(ctx, t, vocab, schema, gbnf)
	select {
	case <-k.done:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k.waiting--
	select {
	case <-k.done:
		return k.a, k.err
	default:
	}
	if k.waiting == 0 {
		k.stop()
		g.forget(k) // who comes now begins anew
	}
	return nil, ctx.Err()
}

// join returns what a source becomes, and begins to compile it unless that was done.
func (g *Grammars) join(ctx context.Context, t *Text, vocab int, schema []byte, gbnf string) *keptGrammar {
	key := "g" + gbnf
	if schema != nil {
		key = "s" + string(schema)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.kept, func(k *keptGrammar) bool { return k.key == key }); i >= 0 {
		k := g.kept[i]
		copy(g.kept[1:i+1], g.kept[:i])
		g.kept[0] = k
		k.waiting++
		return k
	}
	k := &keptGrammar{key: key, waiting: 1, done: make(chan struct{})}
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx)) // others may come to wait for it
	g.kept = slices.Insert(g.kept, 0, k)
	g.kept = g.kept[:min(len(g.kept), grammarsKept)]
	schema = slices.Clone(schema)
	go func() {
		defer close(k.done)
		defer k.stop()
		k.err = fault.Call(func() (err error) {
			k.a, err = g.compile(ctx, t, vocab, schema, gbnf)
			return err
		})
		if k.err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.forget(k)
		}
	}()
	return k
}

// forget lets go of a source that has become nothing. g.mu is held.
func (g *Grammars) forget(k *keptGrammar) {
	g.kept = slices.DeleteFunc(g.kept, func(x *keptGrammar) bool { return x == k })
}

func (g *Grammars) compile(ctx context.Context, t *Text, vocab int, schema []byte, gbnf string) (*grammar.Automaton, error) {
	v, err := g.vocabulary(t, vocab)
	if err != nil {
		return nil, err
	}
	b := grammar.NewBudget(ctx, grammar.CompileTime)
	var parsed *grammar.Grammar
	if schema != nil {
		parsed, err = grammar.FromSchema(b, schema)
	} else {
		parsed, err = grammar.Parse(b, gbnf)
	}
	if err != nil {
		return nil, err
	}
	return v.Compile(b, parsed)
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
