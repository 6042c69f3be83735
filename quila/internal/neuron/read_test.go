package neuron_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

// apply multiplies a matrix with x.
func apply(m, x []float64) []float64 {
	out := make([]float64, len(m)/len(x))
	for i := range out {
		for j, v := range x {
			out[i] += m[i*len(x)+j] * v
		}
	}
	return out
}

func dotRows(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func plus(vs ...[]float64) []float64 {
	out := make([]float64, len(vs[0]))
	for _, v := range vs {
		for i, x := range v {
			out[i] += x
		}
	}
	return out
}

// The read of a queue is the formula of [R-2.3c], entry by entry: what it adds to
// the merge of one Thinker, over more steps than the queue has room for.
func TestReadIsTheFormula(t *testing.T) {
	for _, topK := range []int{0, 2} {
		c := tinyPorts(t, 1, 4, func(c *config.Config) { c.WMQRead = true })
		p := newProblem(t, c, 5)
		plain := *c
		plain.WMQRead = false
		d := c.D
		of := func(name string) []float64 { return p.set.Of("port.thinker.0.wmq." + name) }
		with := neuron.NewStepper(p.ports, p.set, topK)
		without := neuron.NewStepper(neuron.NewPorts[float64](&plain, nil), p.set, 0)
		queue := neuron.NewQueue[float64](c, 1)
		slots, other := slices.Clone(p.slots[:3*d]), slices.Clone(p.slots[:3*d])
		var entries [][]float64
		before := make([]float64, c.DE)
		for step := range 12 {
			x := p.x[step%p.t*c.N*d:][:c.N*d]
			e := p.e[step%(p.t*p.b)*c.DE:][:c.DE]
			in := neuron.Step[float64]{Phase: 5, X: x, Conf: p.conf[:c.N], Utility: p.util[:c.N], Slots: slots, E: e, Queue: queue, M: make([]float64, d), Confidence: make([]float64, 1)}
			if err := with.Step(&in); err != nil {
				t.Fatal(err)
			}
			got := in.M
			in.Slots, in.M = other, make([]float64, d)
			if err := without.Step(&in); err != nil {
				t.Fatal(err)
			}
			o := in.M
			norm := slices.Clone(o)
			for i := range norm {
				norm[i] /= math.Sqrt(dotRows(o, o)/float64(d) + 1e-6)
			}
			want := slices.Clone(o)
			for n, r := range [][]float64{of("r1"), of("r2")} {
				q := plus(apply(of("q")[n*d*d:(n+1)*d*d], norm))
				for i, v := range apply(r, e) {
					q[i] += of("scale")[n] * v
				}
				first := max(0, len(entries)-c.WMQWindow)
				var scores []float64
				for j, entry := range entries[first:] {
					age := len(entries) - first - j
					scores = append(scores, dotRows(q, entry)/math.Sqrt(float64(d))-of("slope")[n]*float64(age))
				}
				if sorted := slices.Sorted(slices.Values(scores)); topK > 0 && topK < len(sorted) {
					for j, s := range scores {
						if s < sorted[len(sorted)-topK] {
							scores[j] = math.Inf(-1)
						}
					}
				}
				total := math.Exp(of("null")[n])
				for _, s := range scores {
					total += math.Exp(s)
				}
				read := make([]float64, d)
				for j, s := range scores {
					for i, v := range entries[first+j] {
						read[i] += math.Exp(s) / total * v
					}
				}
				want = plus(want, apply(of("o")[n*d*d:(n+1)*d*d], read))
			}
			for i := range want {
				if math.Abs(want[i]-got[i]) > 1e-12 {
					t.Fatalf("top %d, step %d: m[%d] is %v, want %v", topK, step, i, got[i], want[i])
				}
			}
			entries = append(entries, plus(apply(of("r1"), e), apply(of("r2"), before), apply(of("c"), norm)))
			before = e
		}
		newest := queue.Entries[len(queue.Entries)-d:]
		if math.Abs(newest[0]-entries[11][0]) > 1e-12 {
			t.Errorf("the newest entry begins with %v, want %v", newest[0], entries[11][0])
		}
	}
}

// Rows, a bias, a query and a restriction of one session change what that session's
// port attends to as the formulas say, and nothing of the other session.
func TestExtras(t *testing.T) {
	c := tinyPorts(t, 1, 4, nil)
	p := newProblem(t, c, 5)
	d := c.D
	s := neuron.NewStepper(p.ports, p.set, 0)
	step := func(extra []neuron.Extra[float64]) *neuron.Step[float64] {
		in := &neuron.Step[float64]{Phase: 5, X: p.x[:2*c.N*d], Conf: p.conf[:2*c.N], Utility: p.util[:2*c.N], Slots: slices.Clone(p.slots),
			M: make([]float64, 2*d), Confidence: make([]float64, 2), Extra: extra}
		if err := s.Step(in); err != nil {
			t.Fatal(err)
		}
		return in
	}
	step(nil)
	plain := slices.Clone(s.Detail(1, 0).O)
	extra := make([]neuron.Extra[float64], 3*2)
	x := &extra[1*2+1] // the Thinker of session 1
	x.Bias, x.Allowed, x.Query = p.gm[:c.N], []bool{true, false, true, true}, p.gm[8:8+d]
	x.Keys, x.Values = p.gm[16:16+2*d], p.e[:2*d]
	y := &extra[2*2+1] // its Analysis
	y.Keys, y.Values, y.Streams = p.gm[:2*d], p.e[:2*d], p.gm[16:16+3*d]
	step(extra)
	for i, v := range s.Detail(1, 0).O {
		if v != plain[i] {
			t.Fatal("an extra of session 1 changes session 0")
		}
	}
	for port, e := range map[int]*neuron.Extra[float64]{1: x, 2: y} {
		a := s.Detail(port, 1)
		name := fmt.Sprintf("port.%s.", a.Name)
		own := p.slots[(a.Slot*2+1)*d:][:d]
		q := apply(p.set.Of(name+"q"), own)
		if e.Query != nil {
			q = plus(q, e.Query)
		}
		var scores []float64
		var values [][]float64
		streams := [][]float64{a.Aggr, nil}
		if port == 1 {
			for _, j := range []int{0, 2, 3} {
				row := p.x[(c.N+j)*d:][:d]
				scores = append(scores, dotRows(q, apply(p.set.Of(name+"k"), row))/math.Sqrt(float64(d))+math.Log(a.Utility[j])+e.Bias[j])
				values = append(values, apply(p.set.Of(name+"v"), row))
			}
			for j := range c.N {
				streams = append(streams, p.x[(c.N+j)*d:][:d])
			}
		} else {
			for j := range 3 {
				streams = append(streams, e.Streams[j*d:][:d])
			}
		}
		for j := range 2 {
			scores = append(scores, dotRows(q, e.Keys[j*d:][:d])/math.Sqrt(float64(d)))
			values = append(values, e.Values[j*d:][:d])
		}
		var total float64
		for _, v := range scores {
			total += math.Exp(v)
		}
		mean := make([]float64, d)
		for j, v := range values {
			for i := range mean {
				mean[i] += math.Exp(scores[j]) / total * v[i]
			}
		}
		streams[1] = mean
		n := c.PortStreams()
		merged := make([]float64, n*d)
		for i := range n {
			for j, v := range streams {
				for k, z := range v {
					merged[i*d+k] += a.H[i*n+j] * z
				}
			}
		}
		o := plus(apply(p.set.Of(name+"compress"), merged), p.set.Of(name+"compress_b"))
		for i := range o {
			if math.Abs(mean[i]-a.OutNSA[i]) > 1e-10 || math.Abs(o[i]-a.O[i]) > 1e-10 || math.Abs(merged[i]-a.Merged[i]) > 1e-10 {
				t.Fatalf("%s: attention %v, output %v; want %v, %v", a.Name, a.OutNSA[i], a.O[i], mean[i], o[i])
			}
		}
	}
	related := make([]bool, c.N)
	s.Related(related, 1)
	if !slices.Equal(related, x.Allowed) {
		t.Errorf("the Thinker attended to %v, of %v", related, x.Allowed)
	}
}

// Gradients are the same bits for any number of threads, and a window allocates
// nothing once its shape has been seen.
func TestWindowBitsAndMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("counts allocations")
	}
	c := tinyPorts(t, 2, 2, func(c *config.Config) { c.WMQRead, c.Aggr, c.MHCGrad = true, "sigmoid", "centred" })
	base := newProblem(t, c, 5)
	var first map[string][]float64
	for _, n := range []int{1, 2, 3} {
		threads := grad.NewThreads(n)
		defer threads.Close()
		p := *base
		p.ports = neuron.NewPorts[float64](c, threads)
		tape := grad.New(registry(), grad.WithThreads(threads))
		loss, leaves := p.run(t, tape)
		if err := tape.Backward(loss); err != nil {
			t.Fatal(err)
		}
		all := map[string][]float64{}
		for name, ref := range leaves {
			g, _ := tape.Grad(ref)
			all[name] = slices.Clone(g)
		}
		if first == nil {
			first = all
		}
		for name, g := range all {
			if !slices.Equal(g, first[name]) {
				t.Errorf("the gradient of %s differs with %d threads", name, n)
			}
		}
	}

	p := base
	tape := grad.New(registry())
	leaves := map[string]grad.Ref{}
	w := neuron.Window[float64]{T: p.t, B: p.b, Phase: 5, Trace: p.trace, PTrace: p.ptrace, Slots: p.slots, E: p.e, Queue: p.queue}
	names := p.ports.Tensors()
	book := neuron.NewCodes(p.set.Of("codebook.text"), c.DE, 1)
	targets := []int32{1, 2, 3, 4, 5, 6}
	rows := p.t * p.b
	var err error
	window := func() {
		tape.Reset()
		for _, name := range names {
			leaves[name] = tape.Borrow(p.set.Of(name), len(p.set.Of(name)))
		}
		w.X, w.Conf, w.Utility = tape.Borrow(p.x, rows*c.N, c.D), tape.Borrow(p.conf, rows*c.N), tape.Borrow(p.util, rows*c.N)
		m, conf, e := p.ports.Run(tape, leaves, &w)
		logits := book.Logits(tape, m, tape.Borrow(p.set.Of("head.read"), c.DE, c.D), 0)
		loss := tape.Add(tape.CrossEntropy(logits, targets), tape.Slice(neuron.Brier(tape, conf, logits, targets), 0))
		if err = e; err == nil {
			err = tape.Backward(loss)
		}
	}
	window()
	window()
	if n := await.Allocs(10, window); n > 0 || err != nil {
		t.Errorf("a window allocates %v times: %v", n, err)
	}
}
