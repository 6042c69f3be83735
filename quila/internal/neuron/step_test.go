package neuron_test

import (
	"errors"
	"math"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// single converts to float32.
func single(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// Steps are the same bits as a window, with any number of threads, with the reader
// and with a selection; so they are when the neurons are scanned in another order.
func TestStepsAreTheWindow(t *testing.T) {
	for _, v := range []struct {
		name         string
		thinkers, kp int
		order        []int32
	}{{"all", 2, 4, nil}, {"selection", 1, 2, []int32{2, 0, 3, 1}}} {
		t.Run(v.name, func(t *testing.T) {
			c := tinyPorts(t, v.thinkers, v.kp, func(c *config.Config) { c.WMQRead = true })
			p := newProblem(t, c, 5)
			set := weights.To[float32](p.set)
			rows, size := p.t*p.b, c.N*c.D
			x, conf, util, trace, e := single(p.x), single(p.conf), single(p.util), single(p.trace), single(p.e)
			var first []float32
			for _, n := range []int{1, 2} {
				threads := grad.NewThreads(n)
				defer threads.Close()
				ports := neuron.NewPorts[float32](c, threads)
				if err := ports.SetOrder(v.order); err != nil {
					t.Fatal(err)
				}
				var reg grad.Registry[float32]
				neuron.RegisterPort(&reg)
				tape := grad.New(&reg, grad.WithThreads(threads))
				refs := map[string]grad.Ref{}
				for _, name := range ports.Tensors() {
					refs[name] = tape.Borrow(set.Of(name), len(set.Of(name)))
				}
				slots, queue := single(p.slots), neuron.NewQueue[float32](c, p.b)
				in := refs
				w := &neuron.Window[float32]{T: p.t, B: p.b, Phase: 5, X: tape.Const(x, rows*c.N, c.D), Conf: tape.Const(conf, rows*c.N),
					Utility: tape.Const(util, rows*c.N), Trace: trace, Slots: slots, E: e, Queue: queue}
				m, mc, err := ports.Run(tape, in, w)
				if err != nil {
					t.Fatal(err)
				}
				all := append(append(append([]float32(nil), tape.Value(m)...), tape.Value(mc)...), slots...)
				if first == nil {
					first = all
				}
				same(t, "window with threads", all, first)

				s := neuron.NewStepper(ports, set, 0)
				table, q := single(p.slots), neuron.NewQueue[float32](c, p.b)
				step := neuron.Step[float32]{Phase: 5, Slots: table, Queue: q, M: make([]float32, p.b*c.D), Confidence: make([]float32, p.b)}
				for i := range p.t {
					lo, hi := i*p.b, (i+1)*p.b
					step.X, step.Conf, step.Utility, step.Trace = x[lo*size:hi*size], conf[lo*c.N:hi*c.N], util[lo*c.N:hi*c.N], trace[lo*c.N:hi*c.N]
					step.E = e[lo*c.DE : hi*c.DE]
					if err := s.Step(&step); err != nil {
						t.Fatal(err)
					}
					same(t, "merge", step.M, tape.Value(m)[lo*c.D:hi*c.D])
					same(t, "confidence", step.Confidence, tape.Value(mc)[lo:hi])
				}
				same(t, "slots", table, slots)
				same(t, "queue", q.Entries, queue.Entries)
			}
		})
	}
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, x := range got {
		if math.Float32bits(x) != math.Float32bits(want[i]) {
			t.Fatalf("%s[%d] is %v, want %v", what, i, x, want[i])
		}
	}
}

// A step allocates nothing once the number of sessions has been seen.
func TestStepAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("counts allocations")
	}
	c := tinyPorts(t, 2, 2, func(c *config.Config) { c.WMQRead = true })
	p := newProblem(t, c, 5)
	set := weights.To[float32](p.set)
	s := neuron.NewStepper(neuron.NewPorts[float32](c, nil), set, 3)
	in := neuron.Step[float32]{Phase: 5, X: single(p.x[:p.b*c.N*c.D]), Conf: single(p.conf[:p.b*c.N]), Utility: single(p.util[:p.b*c.N]),
		Trace: single(p.trace[:p.b*c.N]), Slots: single(p.slots), E: single(p.e[:p.b*c.DE]), Queue: neuron.NewQueue[float32](c, p.b),
		M: make([]float32, p.b*c.D), Confidence: make([]float32, p.b)}
	var err error
	if n := await.Allocs(20, func() { err = errors.Join(err, s.Step(&in)) }); n != 0 || err != nil {
		t.Errorf("a step allocates %v times, %v", n, err)
	}
}

// Reading only the best entries changes little when the others have no weight, and
// top 1 reads one.
func TestTopEntries(t *testing.T) {
	c := tinyPorts(t, 1, 4, func(c *config.Config) { c.WMQRead = true })
	p := newProblem(t, c, 5)
	run := func(topK int) []float64 {
		s := neuron.NewStepper(neuron.NewPorts[float64](c, nil), p.set, topK)
		q := neuron.NewQueue[float64](c, p.b)
		copy(q.Entries, p.queue.Entries)
		copy(q.Count, p.queue.Count)
		in := neuron.Step[float64]{Phase: 5, X: p.x[:p.b*c.N*c.D], Conf: p.conf[:p.b*c.N], Utility: p.util[:p.b*c.N],
			Slots: append([]float64(nil), p.slots...), E: p.e[:p.b*c.DE], Queue: q, M: make([]float64, p.b*c.D), Confidence: make([]float64, p.b)}
		if err := s.Step(&in); err != nil {
			t.Fatal(err)
		}
		return in.M
	}
	all, five, one := run(0), run(5), run(1)
	for i := range all {
		if all[i] != five[i] {
			t.Fatalf("five of five entries: %v, all: %v", five[i], all[i])
		}
	}
	if one[0] == all[0] {
		t.Error("one entry reads as much as all")
	}
}

// Inputs that do not fit are typed errors.
func TestInputs(t *testing.T) {
	c := tinyPorts(t, 1, 4, nil)
	p := newProblem(t, c, 5)
	s := neuron.NewStepper(p.ports, p.set, 0)
	good := func() *neuron.Step[float64] {
		return &neuron.Step[float64]{Phase: 5, X: p.x[:p.b*c.N*c.D], Conf: p.conf[:p.b*c.N], Utility: p.util[:p.b*c.N],
			Slots: append([]float64(nil), p.slots...), M: make([]float64, p.b*c.D), Confidence: make([]float64, p.b)}
	}
	if err := s.Step(good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*neuron.Step[float64]){
		"phase":       func(s *neuron.Step[float64]) { s.Phase = 7 },
		"neurons":     func(s *neuron.Step[float64]) { s.X = s.X[1:] },
		"confidences": func(s *neuron.Step[float64]) { s.Conf = nil },
		"slots":       func(s *neuron.Step[float64]) { s.Slots = s.Slots[:3] },
		"traces":      func(s *neuron.Step[float64]) { s.Trace = []float64{1} },
		"extra":       func(s *neuron.Step[float64]) { s.Extra = make([]neuron.Extra[float64], 1) },
		"idle":        func(s *neuron.Step[float64]) { s.Idle = make([]bool, 3) },
	} {
		in := good()
		spoil(in)
		var want *neuron.InputError
		if err := s.Step(in); !errors.Is(err, neuron.ErrInput) || !errors.As(err, &want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.ports.SetOrder([]int32{1}); !errors.Is(err, neuron.ErrInput) {
		t.Errorf("an order of one neuron: %v", err)
	}
}
