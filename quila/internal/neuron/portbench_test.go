package neuron_test

import (
	"math/rand/v2"
	"testing"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// BenchmarkWindow is what stream training of a nano takes in the ports and the
// reader: 48 steps of 16 sequences, forward and backward.
func BenchmarkWindow(b *testing.B) {
	for _, v := range []struct {
		name, ports string
		threads     int
	}{{"all/2", "all", 2}, {"thinkers/2", "thinkers", 2}, {"all/1", "all", 1}} {
		b.Run(v.name, func(b *testing.B) {
			c, err := config.Profile("nano")
			if err != nil {
				b.Fatal(err)
			}
			c.Training()
			c.TrainPorts = v.ports
			const steps, batch = 48, 16
			threads := grad.NewThreads(v.threads)
			defer threads.Close()
			p := neuron.NewPorts[float32](&c, threads)
			set := weights.Init(&c, c.N*c.Deg, 1)
			r := rand.New(rand.NewPCG(1, 2))
			normal := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				return x
			}
			rows := steps * batch
			x, conf, e, g := normal(rows*c.N*c.D), normal(rows*c.N), normal(rows*c.DE), normal(rows*c.D)
			slots := make([]float32, p.Slots()*batch*c.D)
			queue := neuron.NewQueue[float32](&c, batch)
			var reg grad.Registry[float32]
			neuron.RegisterPort(&reg)
			tape := grad.New(&reg, grad.WithThreads(threads))
			refs := map[string]grad.Ref{}
			names := p.Tensors()
			b.ReportAllocs()
			for b.Loop() {
				tape.Reset()
				for _, name := range names {
					refs[name] = tape.Borrow(set.Of(name), len(set.Of(name)))
				}
				w := &neuron.Window[float32]{T: steps, B: batch, Phase: 5, X: tape.Borrow(x, rows*c.N, c.D), Conf: tape.Borrow(conf, rows*c.N), Slots: slots, E: e, Queue: queue}
				m, mc, err := p.Run(tape, refs, w)
				if err != nil {
					b.Fatal(err)
				}
				if err := tape.Backward(tape.Add(tape.Dot(m, tape.Const(g, rows, c.D)), tape.Sum(mc))); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkStep is what a step of a nano's decoding takes in its ports and readers:
// one session, and sixteen.
func BenchmarkStep(b *testing.B) {
	for _, v := range []struct {
		name     string
		sessions int
	}{{"1", 1}, {"16", 16}} {
		b.Run(v.name, func(b *testing.B) {
			c, err := config.Profile("nano")
			if err != nil {
				b.Fatal(err)
			}
			c.Training()
			p := neuron.NewPorts[float32](&c, nil)
			s := neuron.NewStepper(p, weights.Init(&c, c.N*c.Deg, 1), c.WMQTopK)
			r := rand.New(rand.NewPCG(1, 2))
			normal := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				return x
			}
			in := neuron.Step[float32]{Phase: 5, X: normal(v.sessions * c.N * c.D), Conf: normal(v.sessions * c.N), Utility: normal(v.sessions * c.N),
				Slots: make([]float32, p.Slots()*v.sessions*c.D), E: normal(v.sessions * c.DE), Queue: neuron.NewQueue[float32](&c, v.sessions),
				M: make([]float32, v.sessions*c.D), Confidence: make([]float32, v.sessions)}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Step(&in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(v.sessions*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
