package exec_test

import (
	"testing"

	"atenia/internal/exec"
	"atenia/internal/memory/kv"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"

	"atenia/internal/plan"
	"atenia/tensor"
)

const kvF32 = tensor.F32

// A model is a compiled model with its weights, for any number of executors.
type model struct {
	*compile.Model
	weights exec.Weights
	files   *file.Description
}

func load(t testing.TB, d *file.Description, opt compile.Options) *model {
	t.Helper()
	m, err := compile.Compile(d, opt)
	if err != nil {
		t.Fatal(err)
	}
	w, err := compile.Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	return &model{m, exec.Weights(w), d}
}

// A lane is an executor with one cache per state, and sequences on it.
type lane struct {
	t      testing.TB
	x      *exec.Executor
	caches []*kv.Cache
	states []plan.StateDescriptor
	spans  []exec.Span // images of every sequence

	low      *exec.LowRank // of new sequences
	strength float32
}

func (m *model) lane(t testing.TB, cfg exec.Config) *lane {
	t.Helper()
	x, err := exec.New(&m.Plans, m.weights, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	l := &lane{t: t, x: x, states: x.States()}
	for _, d := range l.states {
		c, err := kv.New(kv.Config{PageTokens: int(d.PageTokens), PageBytes: int(d.SizeBytes), Window: int(d.Window), Fixed: d.PageTokens == 0, Zero: d.ZeroInit})
		if err != nil {
			t.Fatal(err)
		}
		l.caches = append(l.caches, c)
	}
	return l
}

// A sequence is one sequence of a lane.
type sequence struct {
	seqs   []*kv.Seq
	pos    int
	span   int
	source []float32 // rows of an encoder

	low      *exec.LowRank
	strength float32
}

func (l *lane) sequence(span int) *sequence {
	q := &sequence{span: span, low: l.low, strength: l.strength}
	for _, c := range l.caches {
		q.seqs = append(q.seqs, c.NewSeq())
	}
	return q
}

func (q *sequence) fork() *sequence {
	f := &sequence{pos: q.pos, span: q.span}
	for _, s := range q.seqs {
		f.seqs = append(f.seqs, s.Fork())
	}
	return f
}

// A feed is some tokens for a sequence.
type feed struct {
	q      *sequence
	tokens []int32
}

// run feeds all sequences in one step and returns the logits of every row,
// copied.
func (l *lane) run(s *exec.Step, feeds ...feed) [][]float32 {
	l.t.Helper()
	s.Runs, s.Tokens, s.Requested = nil, nil, nil
	for _, f := range feeds {
		r := exec.Run{First: len(s.Tokens), Len: len(f.tokens), Pos: f.q.pos, Span: f.q.span, Spans: l.spans, LowRank: f.q.low, Strength: f.q.strength}
		if f.q.pos == 0 {
			r.Source = f.q.source
		}
		for _, q := range f.q.seqs {
			if err := q.Extend(len(f.tokens)); err != nil {
				l.t.Fatal(err)
			}
			r.Pages = append(r.Pages, q.Pages())
		}
		s.Runs = append(s.Runs, r)
		s.Tokens = append(s.Tokens, f.tokens...)
	}
	for i := range s.Tokens {
		s.Requested = append(s.Requested, int32(i))
	}
	if err := l.x.Step(s); err != nil {
		l.t.Fatal(err)
	}
	for _, f := range feeds {
		f.q.pos += len(f.tokens)
		for _, q := range f.q.seqs {
			q.SlideTo(f.q.pos)
		}
	}
	var rows [][]float32
	for i := range s.Requested {
		rows = append(rows, append([]float32(nil), l.x.Logits(s, i)...))
	}
	return rows
}

// all feeds tokens in chunks of the given sizes, the last size repeating, and
// returns the logits after every token.
func (l *lane) all(tokens []int32, chunks ...int) [][]float32 {
	l.t.Helper()
	return l.feed(l.sequence(len(tokens)), tokens, chunks...)
}

// feed is all for a sequence, which it ends.
func (l *lane) feed(q *sequence, tokens []int32, chunks ...int) [][]float32 {
	l.t.Helper()
	var rows [][]float32
	for len(tokens) > 0 {
		n := min(len(tokens), chunks[0])
		if len(chunks) > 1 {
			chunks = chunks[1:]
		}
		rows = append(rows, l.run(&exec.Step{}, feed{q, tokens[:n]})...)
		tokens = tokens[n:]
	}
	for _, s := range q.seqs {
		s.Release()
	}
	return rows
}
