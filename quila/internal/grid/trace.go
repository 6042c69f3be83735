package grid

import (
	"atenia/quila/config"
)

// A CreditGroup is a set of a neuron's parameters that share a trace.
type CreditGroup int

// Groups of.
const (
	WIn CreditGroup = iota
	A
	B
	C
	D
	MHC
	Conf
	Groups int = iota
)

// faded is one step of a trace: λ·trace + a.
func faded(trace, lambda, a float64) float64 { return lambda*trace + a }

// learn is one step of λ for the neurons of a grid: by how much a neuron's
// activation times utility exceeds the grid's mean.
func learn(lambda, a, u []float64, eta, low, high float64) {
	if len(lambda) == 0 {
		return
	}
	var mean float64
	for i := range lambda {
		mean += a[i] * u[i]
	}
	mean /= float64(len(lambda))
	for i, l := range lambda {
		lambda[i] = min(max(l+eta*(a[i]*u[i]-mean), low), high)
	}
}

// Traces are the persistent traces of a network.
type Traces struct {
	N      int
	Lambda []float64 // [Groups][N]
	Trace  []float64 // [Groups][N]
	Edge   []float64 // [edges]

	eta, low, high float64
}

// NewCredit makes the traces of a network that has learned nothing.
func NewCredit(c *config.Config, edges int) *Traces {
	t := &Traces{
		N: c.N, Lambda: make([]float64, Groups*c.N), Trace: make([]float64, Groups*c.N), Edge: make([]float64, edges),
		eta: c.EtaLambda, low: c.LambdaMin, high: c.LambdaMax,
	}
	for i := range t.Lambda {
		t.Lambda[i] = c.LambdaInit
	}
	return t
}

// Update fades every trace and adds the mean |activation| of its group, then
// moves λ by the utilities. Both are [Groups][N] and [N].
func (t *Traces) Update(activation, utility []float64) {
	for i, a := range activation {
		t.Trace[i] = faded(t.Trace[i], t.Lambda[i], a)
	}
	for g := range Groups {
		lo, hi := g*t.N, (g+1)*t.N
		learn(t.Lambda[lo:hi], activation[lo:hi], utility, t.eta, t.low, t.high)
	}
}

// Send fades the trace of an edge and adds the mean |message|; the rate is that
// of the target.
func (t *Traces) Send(edge, target int, message float64) {
	t.Edge[edge] = faded(t.Edge[edge], t.rate(target), message)
}

// rate is the mean λ of a neuron's groups.
func (t *Traces) rate(neuron int) float64 { return t.mean(t.Lambda, neuron) }

// Neuron is a neuron's trace: the mean of its groups.
func (t *Traces) Neuron(i int) float64 { return t.mean(t.Trace, i) }

func (t *Traces) mean(v []float64, neuron int) float64 {
	var sum float64
	for g := range Groups {
		sum += v[g*t.N+neuron]
	}
	return sum / float64(Groups)
}

// Rate is the λ of an episode: the mean of the grid at its start.
func (t *Traces) Rate() float64 {
	var sum float64
	for _, l := range t.Lambda {
		sum += l
	}
	return sum / float64(len(t.Lambda))
}

// Share is a group's trace divided by the grid's mean of that group; 1 if there
// is no trace yet.
func (t *Traces) Share(g CreditGroup, neuron int) float64 {
	var sum float64
	row := t.Trace[int(g)*t.N : (int(g)+1)*t.N]
	for _, s := range row {
		sum += s
	}
	if sum <= 0 {
		return 1
	}
	return row[neuron] * float64(t.N) / sum
}
