package exec_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/tensor"
)

// adapter draws an adapter for a share of the weights whose products may have one,
// with updates that change the logits by about as much as the weights make them.
func (m *model) adapter(rng *rand.Rand, name string, share float64) (*plan.LowRank, []exec.Factors) {
	l := &plan.LowRank{Name: name}
	var fs []exec.Factors
	for _, w := range slices.Sorted(maps.Keys(m.weights)) {
		s := m.weights[w].Shape
		if len(s) != 2 || rng.Float64() >= share {
			continue
		}
		u := plan.Update{Weight: w, Rows: s[0], Cols: s[1], Rank: 1 + rng.IntN(9), Scale: []float64{0.5, 1, 2}[rng.IntN(3)]}
		if (&plan.LowRank{Updates: []plan.Update{u}}).Check(&m.Plans) != nil {
			continue
		}
		f := exec.Factors{A: make([]float32, u.Rank*u.Cols), B: make([]float32, u.Rows*u.Rank)}
		for i := range f.A {
			f.A[i] = float32(rng.NormFloat64() / math.Sqrt(float64(u.Cols)))
		}
		for i := range f.B {
			f.B[i] = float32(rng.NormFloat64() * 0.3 / math.Sqrt(float64(u.Rank)))
		}
		l.Updates, fs = append(l.Updates, u), append(fs, f)
	}
	return l, fs
}

// merged returns the model with W + strength·scale·B·A in float32.
func (m *model) merged(t *testing.T, l *plan.LowRank, fs []exec.Factors, strength float64) *model {
	t.Helper()
	w := maps.Clone(m.weights)
	for i := range l.Updates {
		u, f := &l.Updates[i], &fs[i]
		v, err := compile.WeightToF32(w[u.Weight])
		if err != nil {
			t.Fatal(err)
		}
		x, _ := v.F32()
		x = slices.Clone(x)
		for r := range u.Rows {
			for c := range u.Cols {
				sum := 0.0
				for k := range u.Rank {
					sum += float64(f.B[r*u.Rank+k]) * float64(f.A[k*u.Cols+c])
				}
				x[r*u.Cols+c] += float32(strength * u.Scale * sum)
			}
		}
		w[u.Weight] = tensor.FromF32(v.Shape, x)
	}
	return &model{m.Model, w, m.files}
}

func (l *lane) adapter(m *model, a *plan.LowRank, fs []exec.Factors) *exec.LowRank {
	l.t.Helper()
	x, err := l.x.NewLowRank(&m.Plans, a, fs, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(x.Release)
	return x
}

// apart returns the largest difference of two rows over the largest value.
func apart(a, b [][]float32) float64 {
	most, size := 0.0, 0.0
	for r := range a {
		for i := range a[r] {
			most, size = max(most, math.Abs(float64(a[r][i])-float64(b[r][i]))), max(size, math.Abs(float64(b[r][i])))
		}
	}
	return most / size
}

// TestLowRank: the rows of an adapter are those of the model with the adapter merged in
// float32, of every family and on every type of weights; the rows beside them are those
// of the model alone, to the bit; and an adapter in a batch with others, in any chunks
// and with any number of threads, gives the bits that it gives alone.
func TestLowRank(t *testing.T) {
	const tolerance = 1e-4 // of the largest logit; float32 sums of two orders
	for i, name := range invariant {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 17))
			m := openCase(t, name, compile.Options{KVType: kvF32})
			tokens := randomTokens(3, 23, m.Config.Vocab)
			cfg := small
			cfg.Precise = true
			plain := m.lane(t, cfg).all(tokens, len(tokens))
			var defs [3]*plan.LowRank
			var factors [3][]exec.Factors
			for k := range defs {
				defs[k], factors[k] = m.adapter(rng, fmt.Sprint("a", k), []float64{1, 0.5, 0.25}[k])
				if len(defs[k].Updates) == 0 {
					defs[k], factors[k] = m.adapter(rng, fmt.Sprint("a", k), 1)
				}
				want := m.merged(t, defs[k], factors[k], 0.75).lane(t, cfg).all(tokens, len(tokens))
				l := m.lane(t, cfg)
				l.low, l.strength = l.adapter(m, defs[k], factors[k]), 0.75
				got := l.all(tokens, len(tokens))
				if d := apart(got, want); d > tolerance {
					t.Errorf("adapter %d of %d updates: %.2g from the merged model", k, len(defs[k].Updates), d)
				}
				if d := apart(plain, want); d < 100*tolerance {
					t.Errorf("adapter %d changes logits by %.2g", k, d)
				}
			}
			m.lowRanksTogether(t, tokens, defs[:], factors[:])
		})
	}
}

// lowRanksTogether runs sequences of several adapters, and of none, in one batch.
func (m *model) lowRanksTogether(t *testing.T, tokens []int32, defs []*plan.LowRank, factors [][]exec.Factors) {
	want := map[int][][]float32{-1: m.lane(t, small).all(tokens, 9, 1)}
	for k := range defs {
		l := m.lane(t, small)
		l.low, l.strength = l.adapter(m, defs[k], factors[k]), 1
		want[k] = l.all(tokens, 9, 1)
	}
	for _, threads := range []int{1, 3} {
		cfg := small
		cfg.Threads = threads
		l := m.lane(t, cfg)
		var lows []*exec.LowRank
		for k := range defs {
			lows = append(lows, l.adapter(m, defs[k], factors[k]))
		}
		order := []int{1, -1, 0, 2, 1, 0}
		var feeds []feed
		for _, k := range order {
			q := l.sequence(len(tokens))
			if k >= 0 {
				q.low, q.strength = lows[k], 1
			}
			feeds = append(feeds, feed{q, nil})
		}
		for at := 0; at < len(tokens); {
			n := 4
			if at > 12 {
				n = 1
			}
			n = min(n, len(tokens)-at)
			for i := range feeds {
				feeds[i].tokens = tokens[at : at+n]
			}
			rows := l.run(&exec.Step{}, feeds...)
			for i, k := range order {
				sameRows(t, fmt.Sprintf("%d threads, adapter %d at %d", threads, k, at), rows[i*n:(i+1)*n], want[k][at:at+n])
			}
			at += n
		}
	}
}

// TestLowRankFaults: an adapter that the model's products cannot have is refused, and
// so is one of another model in a step, and one without memory.
func TestLowRankFaults(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	l := m.lane(t, small)
	for _, c := range []struct {
		u    plan.Update
		kind error
	}{
		{plan.Update{Weight: "blk.0.attn_q", Rank: 2, Rows: 3, Cols: 5, Scale: 1}, plan.ErrWeightBinding},
		{plan.Update{Weight: "token_embd", Rank: 2, Rows: 3, Cols: 5, Scale: 1}, plan.ErrWeightBinding},
		{plan.Update{Weight: "blk.0.none", Rank: 2, Rows: 3, Cols: 5, Scale: 1}, plan.ErrWeightBinding},
		{plan.Update{Weight: "blk.0.attn_q", Rank: 0, Rows: 3, Cols: 5, Scale: 1}, plan.ErrInvalidPlan},
		{plan.Update{Weight: "blk.0.attn_q", Rank: 2, Rows: 3, Cols: 5, Scale: math.NaN()}, plan.ErrInvalidPlan},
	} {
		f := exec.Factors{A: make([]float32, c.u.Rank*c.u.Cols), B: make([]float32, c.u.Rows*c.u.Rank)}
		if _, err := l.x.NewLowRank(&m.Plans, &plan.LowRank{Name: "a", Updates: []plan.Update{c.u}}, []exec.Factors{f}, nil); !errors.Is(err, c.kind) {
			t.Errorf("%+v: %v", c.u, err)
		}
	}
	def, fs := m.adapter(rand.New(rand.NewPCG(1, 1)), "a", 1)
	account := ledger.New(nil, def.Bytes()-1)
	if _, err := l.x.NewLowRank(&m.Plans, def, fs, account); !errors.Is(err, ledger.ErrFull) || account.Held() != 0 {
		t.Errorf("%v, %d bytes held", err, account.Held())
	}
	account.SetLimit(def.Bytes())
	a, err := l.x.NewLowRank(&m.Plans, def, fs, account)
	if err != nil {
		t.Fatal(err)
	}
	if account.Of(ledger.Adapters) != def.Bytes() {
		t.Errorf("%d bytes held, want %d", account.Of(ledger.Adapters), def.Bytes())
	}
	other := openCase(t, "parity/mamba", compile.Options{}).lane(t, small)
	q := other.sequence(8)
	s := &exec.Step{Tokens: []int32{1}, Requested: []int32{0}, Runs: []exec.Run{{Len: 1, Span: 8, LowRank: a, Strength: 1}}}
	for _, seq := range q.seqs {
		if err := seq.Extend(1); err != nil {
			t.Fatal(err)
		}
		s.Runs[0].Pages = append(s.Runs[0].Pages, seq.Pages())
	}
	if err := other.x.Step(s); !errors.Is(err, exec.ErrStep) {
		t.Error(err)
	}
	if a.Release(); account.Held() != 0 {
		t.Errorf("%d bytes held after the release", account.Held())
	}
}

// TestLowRankAllocates: steps with adapters allocate nothing once they have run.
func TestLowRankAllocates(t *testing.T) {
	m := openCase(t, "gguf/models/llama-q8_0.gguf", compile.Options{})
	l := m.lane(t, small)
	def, fs := m.adapter(rand.New(rand.NewPCG(1, 1)), "a", 1)
	a, b := l.adapter(m, def, fs), l.adapter(m, def, fs)
	s := &exec.Step{Tokens: []int32{1, 2, 3}, Requested: []int32{0, 1, 2}}
	for i, low := range []*exec.LowRank{a, b, a} {
		q := l.sequence(8)
		r := exec.Run{First: i, Len: 1, Span: 8, LowRank: low, Strength: 1}
		for _, seq := range q.seqs {
			if err := seq.Extend(1); err != nil {
				t.Fatal(err)
			}
			r.Pages = append(r.Pages, seq.Pages())
		}
		s.Runs = append(s.Runs, r)
	}
	step := func() {
		if err := l.x.Step(s); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := await.Allocs(20, step); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}
