package conform

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// club is Zachary's karate club: 34 members, 78 friendships.
const club = "1-2 1-3 1-4 1-5 1-6 1-7 1-8 1-9 1-11 1-12 1-13 1-14 1-18 1-20 1-22 1-32 2-3 2-4 2-8 2-14 2-18 2-20 2-22 2-31 3-4 3-8 3-9 3-10 3-14 3-28 " +
	"3-29 3-33 4-8 4-13 4-14 5-7 5-11 6-7 6-11 6-17 7-17 9-31 9-33 9-34 10-34 14-34 15-33 15-34 16-33 16-34 19-33 19-34 20-34 21-33 21-34 23-33 " +
	"23-34 24-26 24-28 24-30 24-33 24-34 25-26 25-28 25-32 26-32 27-30 27-34 28-34 29-32 29-34 30-33 30-34 31-33 31-34 32-33 32-34 33-34"

// planted is a graph of groups of equal size with a share of the edges within
// them; nodes are mixed.
func planted(n, groups, edges int, within float64) (list []weights.Edge, truth []int32) {
	r := rand.New(rand.NewPCG(8, uint64(edges)))
	truth = make([]int32, n)
	members := make([][]int32, groups)
	for i, id := range r.Perm(n) {
		truth[id] = int32(i % groups)
		members[i%groups] = append(members[i%groups], int32(id))
	}
	list = make([]weights.Edge, 0, edges)
	for len(list) < edges {
		i := int32(r.IntN(n))
		j := int32(r.IntN(n))
		if r.Float64() < within {
			m := members[truth[i]]
			j = m[r.IntN(len(m))]
		}
		if i != j {
			list = append(list, weights.Edge{Source: i, Target: j})
		}
	}
	return list, truth
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

func louvainRow(t *report) {
	var edges []weights.Edge
	for _, s := range strings.Fields(club) {
		a, b, _ := strings.Cut(s, "-")
		i, err := strconv.Atoi(a)
		t.Must(err)
		j, err := strconv.Atoi(b)
		t.Must(err)
		edges = append(edges, weights.Edge{Source: int32(i - 1), Target: int32(j - 1)})
	}
	k := weights.NewLinks(34, edges).Louvain()
	if k.Modularity < .41 {
		t.Errorf("karate club: %v", k.Modularity)
	}
	// The graph on which igraph finds Q = .6997, that of the planted groups.
	list, truth := planted(1024, 8, 16000, .825)
	l := weights.NewLinks(1024, list)
	c := l.Louvain()
	nmi, least := mutual(c.Of, truth), l.Modularity(truth)-.001
	if nmi < .99 {
		t.Errorf("planted graph: NMI %v", nmi)
	}
	if c.Modularity < least {
		t.Errorf("planted graph: Q %v, at least %v", c.Modularity, least)
	}
	// The ports' scan goes by community, then id; positions are places in it.
	place, positions := make([]int, 1024), c.Positions()
	for i, id := range c.Order() {
		place[id] = i
	}
	for i := range place {
		for j := range i {
			before := c.Of[j] < c.Of[i] || c.Of[j] == c.Of[i] && j < i
			if before != (place[j] < place[i]) || c.Of[i] == c.Of[j] && positions[j][1] >= positions[i][1] || positions[i][0] != uint32(c.Of[i]) {
				t.Fatalf("neurons %d and %d are scanned at %d and %d", j, i, place[j], place[i])
			}
		}
	}
	t.Figure("karate %.4f, planted %.4f (planted groups have %.4f), NMI %.3f", k.Modularity, c.Modularity, least+.001, nmi)
}

func largeRow(t *report) {
	list, truth := planted(32768, 80, 3_270_000, .8)
	var first *weights.Communities
	var seconds []float64
	for _, threads := range []int{1, 2, runtime.NumCPU()} {
		old := runtime.GOMAXPROCS(threads)
		start := time.Now()
		l := weights.NewLinks(32768, list)
		c := l.Louvain()
		seconds = append(seconds, time.Since(start).Seconds())
		runtime.GOMAXPROCS(old)
		if first == nil {
			first = c
			if least := l.Modularity(truth) - .001; c.Modularity < least {
				t.Errorf("Q %v, at least %v", c.Modularity, least)
			}
		}
		if !slices.Equal(first.Of, c.Of) {
			t.Errorf("communities differ with %d threads", threads)
		}
	}
	slices.Sort(seconds)
	t.Took("the median run", time.Duration(seconds[1]*float64(time.Second)), 1500*time.Millisecond)
	t.Figure("Q %.4f, %d communities, NMI %.3f, %.2f s", first.Modularity, first.Count, mutual(first.Of, truth), seconds[1])
}

func rerunRow(t *report) {
	c, err := config.Profile("nano")
	t.Must(err)
	c.N, c.Deg = 100, 10
	g := weights.Initial(&c)
	e := float64(g.Edges())
	for _, v := range []struct {
		share float64
		runs  int
	}{{.049, 0}, {.051, 1}} {
		track := weights.NewTracker(g, c.LouvainRerun)
		before := track.Runs
		left := int(math.Round(v.share * e))
		for left > 0 { // a few edges a batch
			n := min(left, 3)
			track.Changed(g, n)
			left -= n
		}
		if got := track.Runs - before; got != v.runs {
			t.Errorf("%d of %d edges changed: %d re-runs, want %d", int(v.share*e), g.Edges(), got, v.runs)
		}
	}
	t.Figure("%d edges", g.Edges())
}
