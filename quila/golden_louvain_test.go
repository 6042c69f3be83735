package quila_test

import (
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/conform/portrows"
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
			if m := portrows.Mutual(c.Of, g.Truth); m < .99 && c.Modularity <= g.TruthQ {
				t.Errorf("normalised mutual information is %v at modularity %v, the truth has %v", m, c.Modularity, g.TruthQ)
			}
		})
	}
}
