package quila_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/parked"
	"atenia/quila/internal/stores"
)

func init() { topics["sct_wmq"] = goldenSCT }

// A book is a codebook of the reference.
type book[F float32 | float64] struct {
	rows [][]F
	mean []F
	sum  [32]byte
}

func newBook[F float32 | float64](t *testing.T, rows [][]float64, sum string) *book[F] {
	b := &book[F]{mean: make([]F, len(rows[0]))}
	for _, r := range rows {
		row := make([]F, len(r))
		for i, x := range r {
			row[i] = F(x)
			b.mean[i] += F(x / float64(len(rows)))
		}
		b.rows = append(b.rows, row)
	}
	h, err := hex.DecodeString(sum)
	if err != nil || len(h) != len(b.sum) {
		t.Fatalf("%q is no hash", sum)
	}
	b.sum = [32]byte(h)
	return b
}

func (b *book[F]) Len() int            { return len(b.rows) }
func (b *book[F]) Dim() int            { return len(b.mean) }
func (b *book[F]) Row(code uint32) []F { return b.rows[code] }
func (b *book[F]) Mean() []F           { return b.mean }
func (b *book[F]) Sum256() [32]byte    { return b.sum }

type sctCase struct {
	Codebook [][]float64
	SHA      string `json:"codebook_sha256"`
	Codes    []uint32
	Nodes    []struct {
		Span      [2]int
		Embedding []float64
	}
	Keys  []string
	Query struct {
		Q   []float64
		Top []int
	}
	Bands []struct {
		Cos  float32
		Band string
	}
	Ngram struct {
		Codes   []uint32
		Queries []struct {
			Suffix  []uint32
			Matched int
			Q       []float64
		}
	}
	WMQ wmqCase
}

type wmqCase struct {
	Hot, Cold int
	Enqueue   float64 `json:"enqueue_threshold"`
	Dealloc   float64 `json:"dealloc_threshold"`
	Ops       []struct {
		Op           string
		Content, Q   []float64
		Stage, K     int
		Utility      float64
		Trajectory   uint32
		Trajectories []uint32
		Relation     float64
		Got          []uint64
		IDs          [3][]uint64
	}
}

func goldenSCT(t *testing.T, path string) {
	var c sctCase
	golden.JSON(t, path, &c)
	if len(c.Nodes) == 0 || len(c.Bands) == 0 || len(c.Ngram.Queries) == 0 || len(c.WMQ.Ops) == 0 {
		t.Fatal("no cases")
	}
	sctTree[float64](t, &c, 1e-10)
	sctTree[float32](t, &c, 5e-5)
	for _, b := range c.Bands {
		if got := parked.BandOf(b.Cos, .3, .7); got.String() != b.Band {
			t.Errorf("%g is %v, want %s", b.Cos, got, b.Band)
		}
	}
	wmqScript[float64](t, &c.WMQ, 1e-10)
	wmqScript[float32](t, &c.WMQ, 5e-5)
}

func sctTree[F float32 | float64](t *testing.T, c *sctCase, tol float64) {
	const block = 64
	cb := newBook[F](t, c.Codebook, c.SHA)
	b, err := parked.NewBuilder(cb, block, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := b.Build(c.Codes)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if len(tree.Nodes) != len(c.Nodes) {
		t.Fatalf("%d nodes, want %d", len(tree.Nodes), len(c.Nodes))
	}
	for i, n := range c.Nodes {
		if got := tree.Nodes[i]; got.From != n.Span[0] || got.To != n.Span[1] {
			t.Errorf("node %d is [%d, %d), want %v", i, got.From, got.To, n.Span)
		}
		near(t, "embedding", tree.Nodes[i].Embedding, n.Embedding, tol, 0)
	}
	var keys []string
	for _, k := range parked.Keys(c.Codes, cb.sum, block) {
		keys = append(keys, hex.EncodeToString(k[:]))
	}
	if !slices.Equal(keys, c.Keys) {
		t.Errorf("keys %v, want %v", keys, c.Keys)
	}
	q := make([]F, len(c.Query.Q))
	for i, x := range c.Query.Q {
		q[i] = F(x)
	}
	hits, err := tree.Query(nil, q, 8)
	if err != nil {
		t.Fatal(err)
	}
	var top []int
	for _, h := range hits {
		top = append(top, h.ID)
	}
	if !slices.Equal(top, c.Query.Top) {
		t.Errorf("query finds %v, want %v", top, c.Query.Top)
	}
	grams := parked.NewNgrams(c.Ngram.Codes, cb)
	for _, x := range c.Ngram.Queries {
		got := make([]F, cb.Dim())
		if n := grams.Query(got, x.Suffix); n != x.Matched {
			t.Errorf("suffix %v matches %d, want %d", x.Suffix, n, x.Matched)
		}
		want := x.Q
		if want == nil {
			want = make([]float64, cb.Dim())
		}
		near(t, "n-gram", got, want, tol, 0)
	}
}

func wmqScript[F float32 | float64](t *testing.T, c *wmqCase, tol float64) {
	var q *parked.Queue[F]
	to := func(x []float64) []F {
		out := make([]F, len(x))
		for i, v := range x {
			out[i] = F(v)
		}
		return out
	}
	for i, op := range c.Ops {
		if q == nil {
			var err error
			if q, err = parked.NewQueue[F](parked.QueueConfig{Dim: len(op.Content), Hot: c.Hot, Cold: c.Cold, Enqueue: c.Enqueue, Dealloc: c.Dealloc}, stores.NewMemory(stores.TierConfig{}), "t"); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		switch op.Op {
		case "seed":
			err = q.Seed(to(op.Content), 0)
		case "offer":
			var r F
			r, err = q.Offer(to(op.Content), op.Stage, op.Utility, op.Trajectory)
			near(t, "relation", []F{r}, []float64{op.Relation}, tol, 0)
		case "retrieve":
			var hits []parked.QueueHit[F]
			hits, err = q.Retrieve(nil, to(op.Q), op.K, op.Trajectories...)
			got := []uint64{}
			for _, h := range hits {
				got = append(got, h.ID)
			}
			if !slices.Equal(got, op.Got) {
				t.Errorf("op %d retrieves %v, want %v", i, got, op.Got)
			}
		case "stage_end":
			q.StageEnd(op.Stage)
		case "turn_end":
			q.TurnEnd()
		default:
			t.Fatalf("op %d is %q", i, op.Op)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string][]uint64{}
		for x := range q.Items() {
			ids[x.Zone] = append(ids[x.Zone], x.ID)
		}
		for j, zone := range []string{"hot", "cold", "buffer"} {
			slices.Sort(ids[zone])
			if !slices.Equal(ids[zone], op.IDs[j]) {
				t.Fatalf("after op %d (%s) %s has %v, want %v", i, op.Op, zone, ids[zone], op.IDs[j])
			}
		}
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}
