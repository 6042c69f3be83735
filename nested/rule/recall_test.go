package rule

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A recall task writes n random pairs of unit keys and values, in order and so
// many passes, without forgetting, and reads every key back from the last
// state. Corrupt adds noise of length 5 to a tenth of the values.
type recall struct {
	n, passes int
	corrupt   bool
}

// A learner is a rule with a step found on other seeds.
type learner struct {
	label      string
	v          variant
	theta, eta float64
	// hit rate and relative squared residual of the five tasks
	want [5][2]float64
}

var recallTasks = [5]recall{{8, 1, false}, {16, 1, false}, {32, 1, false}, {16, 2, false}, {8, 2, true}}

const recallWidth = 16

// learners are the rules with the results of a NumPy program of the same
// definitions, which are also in docs/memory-rules.md.
var learners = []learner{
	{"HebbianRule", variant{Hebbian, Config{}}, 1, 0, [5][2]float64{{1, .415}, {.88, .842}, {.57, 1.801}, {.88, 4.07}, {.97, 8.66}}},
	{"DeltaRule", variant{Delta, Config{}}, .7, 0, [5][2]float64{{1, .269}, {.79, .478}, {.48, .762}, {.90, .350}, {.95, 1.47}}},
	{"TitansLMM, eta .5", variant{Titans, Config{}}, .5, .5, [5][2]float64{{1, .222}, {.81, .533}, {.45, 1.00}, {.90, .345}, {.97, 1.71}}},
	{"AtlasOmega, window 8, no NS", variant{Atlas, Config{Window: 8, NoNS: true}}, 5, 0, [5][2]float64{{1, .117}, {.85, .411}, {.46, 1.03}, {.91, .254}, {.98, 1.43}}},
	{"AtlasOmega, window 1, poly2", variant{Atlas, Config{Window: 1, NoNS: true, Feature: Poly2}}, .7, 0, [5][2]float64{{1, .115}, {.93, .256}, {.80, .482}, {1, .053}, {.97, 2.62}}},
	{"AtlasOmega, window 4, NS", variant{Atlas, Config{}}, .5, 0, [5][2]float64{{.97, .260}, {.69, .589}, {.42, 1.08}, {.83, .428}, {.98, .246}}},
	{"Moneta, p 2, q 2", variant{Moneta, Config{Hidden: 64, P: 2, Q: 2}}, 1, 0, [5][2]float64{{.91, .306}, {.84, .460}, {.50, .661}, {.96, .241}, {.95, .848}}},
	{"Moneta, p 3, q 4", variant{Moneta, Config{Hidden: 64}}, .1, 0, [5][2]float64{{.73, .729}, {.68, .763}, {.39, .818}, {.84, .647}, {.62, 1.57}}},
	{"YAAD, delta .2", variant{YAAD, Config{Hidden: 64, Delta: .2}}, 3, 0, [5][2]float64{{.95, .343}, {.84, .483}, {.57, .671}, {.94, .285}, {.98, .281}}},
	{"MEMORA", variant{MEMORA, Config{Hidden: 64}}, 30, 0, [5][2]float64{{.75, .825}, {.40, .900}, {.20, .973}, {.48, .831}, {.67, .856}}},
	{"LatticeOSR, 16 slots", variant{Lattice, Config{Slots: 16}}, 1, 0, [5][2]float64{{.94, .381}, {.77, .668}, {.42, 1.07}, {.88, .433}, {.95, .850}}},
	{"Trellis, 16 slots", variant{Trellis, Config{Slots: 16}}, .1, 0, [5][2]float64{{.52, 1.05}, {.29, 1.18}, {.19, 1.34}, {.48, 1.18}, {.56, .983}}},
}

// run does one task and returns the hit rate and the residual.
func (l *learner) run(t testing.TB, task recall, seed uint64) (hit, residual float64) {
	t.Helper()
	b, err := New[float64](l.v.name, recallWidth, l.v.c)
	if err != nil {
		t.Fatal(err)
	}
	const d = recallWidth
	r, n, dk := NewRand(seed), task.n, b.DK
	k, v, lengths := make([]float64, n*dk), make([]float64, n*d), make([]float64, n)
	Uniform(r, k, 1)
	normalize(k, lengths, dk)
	Uniform(r, v, 1)
	normalize(v, lengths, d)
	c := &core{b: b, w: grad.NewWork[float64](nil), s: make([]float64, b.StateLen), y: make([]float64, n*task.passes*d)}
	c.in.T = n * task.passes
	for range task.passes {
		c.in.K, c.in.V = append(c.in.K, k...), append(c.in.V, v...)
	}
	c.in.Q = c.in.K
	if task.corrupt {
		for i := range c.in.T {
			if r.Unit() < 0.1 {
				noise := make([]float64, d)
				Uniform(r, noise, 1)
				normalize(noise, lengths[:1], d)
				dense.Axpy(c.in.V[i*d:][:d], 5, noise)
			}
		}
	}
	c.in.Gate = [gates][]float64{fill(c.in.T, 0), fill(c.in.T, l.theta), fill(c.in.T, l.eta), fill(c.in.T, 1)}
	if b.Code > 0 {
		wc := make([]float64, b.Code*d)
		Uniform(r, wc, 1)
		c.in.Code = make([]float64, c.in.T*b.Code)
		c.w.MulT(c.in.Code, c.in.K, wc, c.in.T, d, b.Code)
	}
	b.InitState(c.s, r)
	_, sT := c.run()
	y := make([]float64, n*d)
	b.Read(c.w, sT, k, y)
	for i := range n {
		best, at := math.Inf(-1), 0
		for j := range n {
			if p := dense.Dot(y[i*d:][:d], v[j*d:][:d]); p > best {
				best, at = p, j
			}
		}
		if at == i {
			hit += 1 / float64(n)
		}
		e := append([]float64(nil), y[i*d:][:d]...)
		dense.Axpy(e, -1, v[i*d:][:d])
		residual += dense.Dot(e, e) / float64(n)
	}
	return hit, residual
}

// mean is the average over eight seeds.
func (l *learner) mean(t testing.TB, task recall) (hit, residual float64) {
	for s := range uint64(8) {
		h, r := l.run(t, task, 100+s)
		hit, residual = hit+h/8, residual+r/8
	}
	return hit, residual
}

// TestRecall compares the recall of the rules without outer training with figures
// of an independent program, and checks the conclusions drawn from them.
func TestRecall(t *testing.T) {
	t.Parallel()
	got := map[string][5][2]float64{}
	var table strings.Builder
	for i := range learners {
		l := &learners[i]
		var row [5][2]float64
		fmt.Fprintf(&table, "\n%-28s", l.label)
		for j, task := range recallTasks {
			row[j][0], row[j][1] = l.mean(t, task)
			fmt.Fprintf(&table, "  %.2f / %-5.3f", row[j][0], row[j][1])
			for k, v := range row[j] {
				if math.Abs(v-l.want[j][k]) > 0.006*max(1, v) {
					t.Errorf("%s, task %+v: %.4f, want %.3f", l.label, task, v, l.want[j][k])
				}
			}
		}
		got[l.label] = row
	}
	t.Log(table.String())

	const few, full, over, twice, noisy = 0, 1, 2, 3, 4
	residual := func(label string, task int) float64 { return got[label][task][1] }
	claim := func(what string, holds bool) {
		t.Helper()
		if !holds {
			t.Errorf("it does not hold that %s", what)
		}
	}
	claim("the delta rule corrects interference", residual("DeltaRule", few) < residual("HebbianRule", few)*0.75)
	claim("a second pass helps the delta rule", residual("DeltaRule", twice) < residual("DeltaRule", full)*0.8)
	claim("a second pass hurts Hebb's", residual("HebbianRule", twice) > residual("HebbianRule", full)*2)
	claim("a window reduces the residual", residual("AtlasOmega, window 8, no NS", few) < residual("DeltaRule", few)/2)
	claim("polynomial features raise capacity", got["AtlasOmega, window 1, poly2"][over][0] > got["DeltaRule"][over][0]+0.25)
	claim("Huber's loss protects against outliers", residual("YAAD, delta .2", noisy) < residual("Moneta, p 2, q 2", noisy)/2)
	claim("bounded steps protect against outliers", residual("AtlasOmega, window 4, NS", noisy) < residual("DeltaRule", noisy)/4)
}

// testHebbianRecall: the residual of n random pairs is (n-1)/d in expectation.
func testHebbianRecall(t *testing.T) {
	l := learner{v: variant{Hebbian, Config{}}, theta: 1}
	for _, n := range []int{4, 8, 16, 32} {
		sum, seeds := 0.0, uint64(256)
		for s := range seeds {
			_, r := l.run(t, recall{n, 1, false}, 1000+s)
			sum += r / float64(seeds)
		}
		want := float64(n-1) / recallWidth
		if math.Abs(sum-want) > 0.06*want {
			t.Errorf("%d pairs: residual %.3f, want about %.3f", n, sum, want)
		}
	}
}

// BenchmarkRecall reports each rule's recall of 16 pairs at width 16.
func BenchmarkRecall(b *testing.B) {
	for i := range learners {
		l := &learners[i]
		b.Run(strings.ReplaceAll(l.label, ", ", "/"), func(b *testing.B) {
			var hit, residual float64
			for b.Loop() {
				hit, residual = l.mean(b, recallTasks[1])
			}
			b.ReportMetric(hit, "hits")
			b.ReportMetric(residual, "residual")
		})
	}
}
