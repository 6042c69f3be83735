package quila_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/stores"
)

func init() { topics["kfe"] = goldenKFE }

// A kfeEntry is an entry of the reference.
type kfeEntry struct {
	ID         uint64    `json:"kfe_id"`
	Embedding  []float64 `json:"embedding"`
	Snapshot   []float64 `json:"state_snapshot"`
	Confidence float64   `json:"confidence"`
	Utility    float64   `json:"utility"`
	Count      uint32    `json:"access_count"`
	Last       int64     `json:"last_access_epoch"`
	Soft       bool      `json:"soft_delete_flag"`
}

func (e *kfeEntry) entry() stores.KFEEntry[float64] {
	return stores.KFEEntry[float64]{ID: e.ID, Embedding: e.Embedding, Snapshot: e.Snapshot, Utility: e.Utility, Confidence: e.Confidence, Count: e.Count, Last: e.Last, Soft: e.Soft}
}

// A kfeCase is a case of the topic.
type kfeCase struct {
	Recall []kfeRecall
	Create []struct {
		Act, Util, Conf float32
		Phase           int
		Create          bool
	}
	Fate []struct {
		Soft bool
		Idle int64
		A, B bool
		Fate string
	}
	Merge []struct{ New, Old, Merged kfeEntry }
	Evict struct {
		Utility, WKV, PTrace, Score []float64
		Idle                        []int64
		Features                    [][]float64
		Order                       []int
		Learn                       []struct {
			Missed int
			W      []float64
		}
	}
}

type kfeRecall struct {
	Clip       bool
	TopK       int `json:"top_k"`
	Embedding  [][]float64
	Snapshot   [][]float64
	Soft       []bool
	HMid       []float64 `json:"h_mid"`
	HKFE       []float64 `json:"h_kfe"`
	Idx        []int
	Weight     []float64
	ClearsSoft []int `json:"clears_soft"`
}

func goldenKFE(t *testing.T, path string) {
	var c kfeCase
	golden.JSON(t, path, &c)
	if len(c.Recall) == 0 || len(c.Create) == 0 || len(c.Fate) == 0 || len(c.Merge) == 0 || len(c.Evict.Learn) == 0 {
		t.Fatal("no cases")
	}
	for i := range c.Recall {
		kfeMix(t, &c.Recall[i])
		kfeStore(t, &c.Recall[i])
	}
	gates := stores.Gates{Activation: .5, Utility: .5, Confidence: .6}
	for _, x := range c.Create {
		if got := gates.Open(x.Act, x.Util, x.Conf, x.Phase); got != x.Create {
			t.Errorf("%+v: created %v", x, got)
		}
	}
	for _, x := range c.Fate {
		var e stores.Evidence
		if x.A {
			e |= stores.Penalty
		}
		if x.B {
			e |= stores.Contradiction
		}
		if got := stores.Decide(x.Soft, x.Idle, e, 8); got.String() != x.Fate {
			t.Errorf("%+v: %v", x, got)
		}
	}
	for _, x := range c.Merge {
		got, want := stores.Merge(x.New.entry(), x.Old.entry()), x.Merged
		near(t, "merged embedding", got.Embedding, want.Embedding, 1e-10, 0)
		near(t, "merged snapshot", got.Snapshot, want.Snapshot, 0, 0)
		if got.ID != want.ID || got.Utility != want.Utility || got.Confidence != want.Confidence || got.Count != want.Count || got.Last != want.Last || got.Soft != want.Soft {
			t.Errorf("merged %+v, want %+v", got, want)
		}
	}
	kfeEvict(t, &c)
}

// kfeMix compares the arithmetic of a recall, in both float types, on vectors that
// are not rounded.
func kfeMix(t *testing.T, c *kfeRecall) {
	found := c.Idx
	h, w := mixed[float64](c, found)
	near(t, "h_kfe", h, c.HKFE, 1e-10, 0)
	near(t, "weights", w, c.Weight, 1e-10, 0)
	h32, w32 := mixed[float32](c, found)
	near(t, "h_kfe in float32", h32, c.HKFE, 5e-5, 0)
	near(t, "weights in float32", w32, c.Weight, 5e-5, 0)
}

func mixed[F float32 | float64](c *kfeRecall, found []int) (h, w []F) {
	to := func(x []float64) []F {
		out := make([]F, len(x))
		for i, v := range x {
			out[i] = F(v)
		}
		return out
	}
	var r stores.Recalled[F]
	var ids []uint64
	var keys, snaps []F
	var soft []bool
	for _, i := range found {
		ids, soft = append(ids, uint64(i)), append(soft, c.Soft[i])
		keys, snaps = append(keys, to(c.Embedding[i])...), append(snaps, to(c.Snapshot[i])...)
	}
	h = make([]F, len(c.HMid))
	r.Set(ids, keys, snaps, soft, len(c.HMid))
	r.Add(h, to(c.HMid), stores.Mix{Gain: 1, Clip: c.Clip})
	return h, r.Weight
}

// kfeStore runs the same recall through a store, which keeps vectors in half
// precision: the entries it finds, their order and the flags that it clears are
// exact, the rest within a rounding.
func kfeStore(t *testing.T, c *kfeRecall) {
	cfg, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	cfg.N, cfg.D, cfg.KFEClip, cfg.KFETopK = 1, len(c.HMid), c.Clip, c.TopK
	s, err := stores.NewKFE(&cfg, stores.KFEOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range c.Embedding {
		if err := s.Insert(0, stores.KFEEntry[float32]{ID: uint64(i), Embedding: narrow(e), Snapshot: narrow(c.Snapshot[i]), Soft: c.Soft[i]}); err != nil {
			t.Fatal(err)
		}
	}
	h := make([]float64, len(c.HMid))
	var r stores.Recalled[float64]
	stores.NewKFEReader[float64](s).Recall(0, 0, c.HMid, h, &r)
	near(t, "h_kfe of the store", h, c.HKFE, 5e-3, 0)
	var idx []int
	for _, id := range r.IDs {
		idx = append(idx, int(id))
	}
	if !sameOrder(idx, c.Idx, c.Embedding, c.HMid) {
		t.Errorf("recalled %v, want %v", idx, c.Idx)
	}
	if err := s.Commit(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	cleared := []int{}
	for i := range c.Soft {
		if e, err := s.Library(0).Get(uint64(i)); err != nil {
			t.Fatal(err)
		} else if c.Soft[i] && !e.Soft {
			cleared = append(cleared, i)
		}
	}
	want := slices.Clone(c.ClearsSoft)
	slices.Sort(want)
	if !slices.Equal(cleared, want) {
		t.Errorf("cleared %v, want %v", cleared, want)
	}
}

func kfeEvict(t *testing.T, c *kfeCase) {
	e := &c.Evict
	f := make([]float64, stores.Terms*len(e.Utility))
	stores.Features(f, e.Utility, e.WKV, e.Idle, e.PTrace, .001)
	near(t, "features", f, slices.Concat(e.Features...), 1e-10, 0)
	w := stores.KFEWeights{.4, .2, .2, .2}
	var score []float64
	order := make([]int, len(e.Score))
	for i := range e.Score {
		score, order[i] = append(score, w.Score(f[stores.Terms*i:])), i
	}
	near(t, "score", score, e.Score, 1e-10, 0)
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case score[a] < score[b]:
			return -1
		case score[a] > score[b]:
			return 1
		}
		return 0
	})
	if !slices.Equal(order, e.Order) {
		t.Errorf("order %v, want %v", order, e.Order)
	}
	for _, l := range e.Learn {
		var kept [stores.Terms]float64
		for i := range e.Utility {
			for k := range kept {
				if i != l.Missed {
					kept[k] += f[stores.Terms*i+k] / float64(len(e.Utility)-1)
				}
			}
		}
		w.Learn([stores.Terms]float64(f[stores.Terms*l.Missed:]), kept, .01)
		near(t, "weights learned", w[:], l.W, 1e-10, 0)
	}
}

// sameOrder reports whether two orders differ only where products are equal in
// half precision, in which a store keeps its vectors.
func sameOrder(got, want []int, embedding [][]float64, h []float64) bool {
	if len(got) != len(want) {
		return false
	}
	dot := func(i int) (sum float64) {
		for d, x := range embedding[i] {
			sum += x * h[d]
		}
		return sum
	}
	for k := range got {
		if got[k] != want[k] && math.Abs(dot(got[k])-dot(want[k])) > 2e-3 {
			return false
		}
	}
	return true
}
