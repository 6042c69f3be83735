package quila_test

import (
	"math"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/weights"
)

func init() { topics["louvain"] = goldenLouvain }

func goldenLouvain(t *testing.T, path string) {
	var file struct {
		Graphs []struct {
			Name   string   `json:"name"`
			N      int      `json:"n"`
			Edges  [][2]int `json:"edges"`
			Labels []int32  `json:"labels"`
			Q      float64  `json:"modularity"`
			Other  []int32  `json:"other_labels"`
			OtherQ float64  `json:"other_modularity"`
			Truth  []int32  `json:"truth"`
			TruthQ float64  `json:"truth_modularity"`
		} `json:"graphs"`
	}
	golden.JSON(t, path, &file)
	if len(file.Graphs) == 0 {
		t.Fatal("no graphs")
	}
	for _, g := range file.Graphs {
		t.Run(g.Name, func(t *testing.T) {
			edges := make([]weights.Edge, len(g.Edges))
			for i, e := range g.Edges {
				edges[i] = weights.Edge{Source: int32(e[0]), Target: int32(e[1])}
			}
			l := weights.NewLinks(g.N, edges)
			near(t, "modularity", []float64{l.Modularity(g.Labels), l.Modularity(g.Other)}, []float64{g.Q, g.OtherQ}, 0, 1e-12)
			c := l.Louvain()
			if c.Modularity < g.Q-.001 {
				t.Errorf("modularity %v of %d communities, the reference has %v", c.Modularity, c.Count, g.Q)
			}
			if g.Truth == nil {
				return
			}
			near(t, "modularity of the truth", []float64{l.Modularity(g.Truth)}, []float64{g.TruthQ}, 0, 1e-12)
			// Where the planted groups are not the best partition of a noisy graph, the
			// better one need not be near them.
			if m := mutual(c.Of, g.Truth); m < .99 && c.Modularity <= g.TruthQ {
				t.Errorf("normalised mutual information is %v at modularity %v, the truth has %v", m, c.Modularity, g.TruthQ)
			}
		})
	}
}

// mutual is the normalised mutual information of two labellings.
func mutual(a, b []int32) float64 {
	n := float64(len(a))
	pa, pb, both := map[int32]float64{}, map[int32]float64{}, map[[2]int32]float64{}
	for i := range a {
		pa[a[i]] += 1 / n
		pb[b[i]] += 1 / n
		both[[2]int32{a[i], b[i]}] += 1 / n
	}
	var information, ha, hb float64
	for k, p := range both {
		information += p * math.Log(p/(pa[k[0]]*pb[k[1]]))
	}
	for _, p := range pa {
		ha -= p * math.Log(p)
	}
	for _, p := range pb {
		hb -= p * math.Log(p)
	}
	return 2 * information / (ha + hb)
}
