package conform

import (
	"math"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// neuronRows are the rows about one neuron's tick:
// the receiver, the four streams, the steps that mix and clean, and the gradient.
//
//	receive.go   step 1: receiver's kernel, W_in, composite edges, residual
//	streams.go   step 4: attention, state space, recurrence, correction
//	mixing.go    steps 5 to 11: Sinkhorn, consistency, smoothing, order, noise
//	backward.go  gradients, and what they must not depend on
//	precision.go sums in single precision
//
// Oracles are loops over the formulas of the specification, in float64.
func neuronRows() []experiment {
	row := func(id, section, what string, check func(*report)) experiment {
		return experiment{ID: id, Section: section, What: what, Check: check}
	}
	return []experiment{
		row("REQ-5.3.1a", "4.1", "sums of 4,096 small halves plus one are exact in every reduction", sums),
		row("REQ-5.3.1b", "4.1", "products of 4,096 halves agree with float64", products),
		row("INV-2", "4.2", "suspicion acts on gradients through the confidence only", suspicion),
		row("CONVT-ID", "4.3", "the identity kernel receives a board as it is", convolutionIdentity),
		row("CONVT-NAIVE", "4.3", "the receiver's convolution is that of four loops", convolutionNaive),
		row("WIN-KRON", "4.3", "W_in by Kronecker terms is the dense matrix; its weights are counted", kronecker),
		row("EDGE-EQ", "4.3", "composite edge maps are the path of messages", edges),
		row("RES-EQ", "4.3", "the residual after W_in is its pseudo-inverse's before", residual),
		row("RF-MASK", "4.3", "dimensions outside the receptive field are zero and have no gradient", receptive),
		row("NSA-MICRO", "4.3", "stream A attends to selected dimensions only", micro),
		row("SSM-REF", "4.3", "stream B scans nine steps; its state is bounded", stateSpace),
		row("RWKV-STEP", "4.3", "stream C is its closed form over 200 steps, and finite", recurrence),
		row("DRC-N", "4.3", "iterations by confidence", iterations),
		row("DRC-STOP", "4.3", "stream D converges, stops early, and is kept a contraction", stops),
		row("MHC-DS", "4.3", "Sinkhorn's matrices are doubly stochastic", doublyStochastic),
		row("MHC-GAIN", "4.3", "sixty layers of them do not amplify", gain),
		row("MHC-NEG", "4.3", "negative logits are accepted", negative),
		row("MHC-OPT", "4.3", "logits that are absent are zeros", absent),
		row("CM-ID", "4.3", "the consistency model is the identity at t = 0; low confidence takes two steps", consistency),
		row("FXAA", "4.3", "step 8 smooths towards the frame before by at most a half", smoothing),
		row("STEP9-ORDER", "4.3", "the refractory counter is set by the old confidence", order),
		row("NOISE", "4.3", "temperature 0 is deterministic; else the deviation is T·(1−conf)", noise),
		row("GATE-SKIP", "4.3", "the gate is a softmax over the streams that run", gates),
		row("GRAD-CHK", "4.3", "gradients of two ticks agree with central differences", differences),
		row("BWD-STEPS", "4.7", "what the backward pass goes straight through", backwardSteps),
	}
}

// A subject is a small network with values that are not zero by accident.
type subject struct {
	c     config.Config
	graph *weights.Graph
	w     *weights.Set[float64]
	state *neuron.State[float64]
	hIn   []float64
}

// tiny makes one of three neurons and sixteen dimensions.
func tiny(t *report, sessions int, change func(c *config.Config)) *subject {
	c, err := config.Parse([]byte(`{"name":"nano","N":3,"D":16,"H":8,"a":4,"s":2,"kappa":2,"r":2,"d1":4,"d2":4,"deg":2,"k_p":3,"V":20,"D_e":16}`))
	t.Must(err)
	if change != nil {
		change(&c)
	}
	t.Must(c.Check())
	s := &subject{c: c, graph: weights.Initial(&c)}
	s.w = weights.To[float64](weights.Init(&c, s.graph.Edges(), 7))
	for i, spec := range s.w.Specs {
		if spec.Name == "s4.receptive" {
			continue
		}
		for k, x := range initNormals(spec.Size(), uint64(1000+i)) {
			s.w.At(i)[k] += .15 * x
		}
	}
	s.state = neuron.NewState[float64](&s.c, sessions)
	for i, f := range s.state.Fields() {
		copy(f.Values, initNormals(len(f.Values), uint64(100+i)))
		switch f.Name {
		case "conf":
			for k, x := range f.Values {
				f.Values[k] = .15 + .8*math.Abs(math.Sin(3*x))
			}
		case "trace", "ptrace", "den", "u_dim", "h_dim":
			for k, x := range f.Values {
				f.Values[k] = math.Abs(x)
			}
		}
	}
	s.hIn = initNormals(c.N*sessions*c.D, 9)
	return s
}

// initNormals are n of a seed.
func initNormals(n int, seed uint64) []float64 {
	v := make([]float64, n)
	weights.Stream{Seed: seed, Site: weights.InitSite}.Normal(v)
	return v
}

// step runs one tick on a copy of the state.
func (s *subject) step(change func(*neuron.Tick[float64])) (*neuron.State[float64], *neuron.Trace[float64]) {
	g := neuron.New[float64](&s.c, s.graph, nil)
	g.Bind(s.w)
	state, seen := s.state.Clone(), &neuron.Trace[float64]{}
	tick := &neuron.Tick[float64]{HIn: s.hIn, Alpha: .9, Beta: .06, Gamma: .04, Seen: seen}
	if change != nil {
		change(tick)
	}
	g.Step(state, tick)
	return state, seen
}

// gap is the largest difference of two slices.
func gap[F, G grad.Float](a []F, b []G) (worst float64) {
	for i, x := range a {
		worst = math.Max(worst, math.Abs(float64(x)-float64(b[i])))
	}
	return worst
}

// largest is the largest magnitude.
func largest[F grad.Float](a []F) (most float64) {
	for _, x := range a {
		most = math.Max(most, math.Abs(float64(x)))
	}
	return most
}
