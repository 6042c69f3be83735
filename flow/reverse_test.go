package flow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// TestReverse drives channels with random cuts of writer and reader, and compares
// the writer's gradients with the readers', frame by frame.
func TestReverse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		const rows = 2
		total, prefill := 1+r.IntN(200), r.IntN(20)
		readers := 1 + r.IntN(3)
		edges := make([]reverse[float64], readers)
		read := make([]int, readers) // positions each has gone over, from here down
		gave := make([][]float64, readers)
		lent := map[*float64]bool{} // buffers that are none of the channels'
		for i := range edges {
			edges[i].rows = rows
			read[i] = r.IntN(total + prefill + 1)
			gave[i] = make([]float64, rows*(total+prefill))
		}
		for at := total; at > 0; {
			n := 1 + r.IntN(min(at, 1+r.IntN(40)))
			at -= n
			g := node.Tensor[float64]{Data: make([]float64, rows*n), B: 1, C: rows, N: n}
			for i := range edges {
				for read[i] > at+prefill {
					k := 1 + r.IntN(min(read[i], 30))
					read[i] -= k
					d := node.Tensor[float64]{Data: edges[i].buffer(k), B: 1, C: rows, N: k}
					given := r.IntN(4) == 0
					if given {
						d.Data = make([]float64, len(d.Data))
						lent[&d.Data[0]] = true
					} else if lent[&d.Data[0]] {
						t.Fatal("a lent buffer was handed out")
					}
					for row := range rows {
						for f := range k {
							v := r.NormFloat64()
							d.Row(row)[f], gave[i][row*(total+prefill)+read[i]+f] = v, v
						}
					}
					edges[i].push(d, int64(read[i]), given)
				}
			}
			if d, ok := edges[0].whole(int64(at+prefill), n); ok && readers == 1 {
				copy(g.Data, d)
				edges[0].drop(int64(at + prefill))
			} else {
				for i := range edges {
					edges[i].pop(&g, 0, int64(at+prefill), i == 0)
				}
			}
			for row := range rows {
				for f := range n {
					want := 0.0
					for i := range edges {
						want += gave[i][row*(total+prefill)+at+prefill+f]
					}
					if got := g.Row(row)[f]; got != want {
						t.Fatalf("seed %d: frame %d of row %d: %g, want %g", seed, at+f, row, got, want)
					}
				}
			}
		}
		for i := range edges {
			if edges[i].start(); len(edges[i].chunks) != 0 || edges[i].used {
				t.Fatal("not empty after start")
			}
		}
	}
}

// TestFold checks which frame of a parameter a frame of the stream belongs to,
// and that the cut of the stream changes no bit.
func TestFold(t *testing.T) {
	t.Parallel()
	const rows, frames, n = 2, 3, 10
	r := rand.New(rand.NewPCG(1, 2))
	g := node.Tensor[float64]{Data: make([]float64, rows*n), B: 1, C: rows, N: n}
	want := make([]float64, rows*frames)
	for i := range g.Data {
		g.Data[i] = r.NormFloat64()
	}
	for row := range rows {
		for f := n - 1; f >= 0; f-- {
			want[row*frames+(f+5)%frames] += g.Row(row)[f]
		}
	}
	for cut := range n + 1 {
		got := make([]float64, rows*frames)
		for _, part := range [][2]int{{cut, n}, {0, cut}} { // the last first
			p := node.Tensor[float64]{B: 1, C: rows, N: part[1] - part[0]}
			for row := range rows {
				p.Data = append(p.Data, g.Row(row)[part[0]:part[1]]...)
			}
			fold(got, &p, frames, int64(5+part[0]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("cut at %d: %v, want %v", cut, got, want)
		}
	}
	if got := reduce([]float64{1, 2, 3, 4, 5, 6, 7, 8}, graph.Shape{B: 2, C: 2}, &graph.Tensor{B: 1, C: 2, F: 2}); !slices.Equal(got, []float64{6, 8, 10, 12}) {
		t.Errorf("reduced to %v", got)
	}
}

// TestStack checks that memory handed out does not overlap and is used again.
func TestStack(t *testing.T) {
	t.Parallel()
	var s callStack[int]
	fill := func() (all [][]int) {
		for i := range 2000 {
			p := s.Push(i % 97)
			for k := range p {
				p[k] = i
			}
			all = append(all, p)
		}
		return append(all, s.Push(3*stackChunk))
	}
	for range 2 {
		for i, p := range fill()[:2000] {
			if len(p) != i%97 || slices.ContainsFunc(p, func(v int) bool { return v != i }) {
				t.Fatalf("piece %d was written over", i)
			}
		}
		chunks := len(s.chunks)
		s.Reset()
		if fill(); len(s.chunks) != chunks {
			t.Errorf("%d pieces of memory, then %d", chunks, len(s.chunks))
		}
		s.Reset()
	}
}
