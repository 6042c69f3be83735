package network

import (
	"fmt"
	"math"
	"strings"

	"atenia/grad"
	"atenia/internal/machine/ledger"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// brierWeight is λ of the Brier term [R-2.6b].
const brierWeight = .01

// spreadEMA is the share of the past in σ_d [R-2.3c].
const spreadEMA = .99

// A Network is a configuration with its graph and weights. Its streams share
// them; it and they may be used by one goroutine at a time.
type Network[F grad.Float] struct {
	Config  config.Config
	Graph   *weights.Graph
	Weights *weights.Set[F]

	grid    *neuron.Grid[F]
	ports   *neuron.Ports[F]
	threads *grad.Threads
	params  []*grad.Param[F]
	held    []int // specs that are no parameters
	codes   *neuron.Codes[F]
	bound   bool
	version int // of the weights
}

// NewPorts makes a network with first values of a seed. threads may be nil.
func New[F grad.Float](c config.Config, seed uint64, threads *grad.Threads) (*Network[F], error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	g := weights.Initial(&c)
	return With(c, g, weights.To[F](weights.Init(&c, g.Edges(), seed)), threads)
}

// Reserve holds the memory that training a network takes at the least, before anything
// of it is allocated: values, gradients and two moments in float32.
func Reserve(c *config.Config) (release func(), err error) {
	weights := c.Count().Total
	r, err := ledger.Process.Reserve(ledger.Parameters, 4*4*weights)
	if err != nil {
		return nil, fmt.Errorf("training %d weights of the profile %q, 16 bytes for each: %w", weights, c.Name, err)
	}
	return r.Release, nil
}

// With makes a network of weights that exist, which it uses and does not copy.
func With[F grad.Float](c config.Config, g *weights.Graph, w *weights.Set[F], threads *grad.Threads) (*Network[F], error) {
	n := &Network[F]{Config: c, Graph: g, Weights: w, threads: threads}
	n.grid, n.ports = neuron.New[F](&n.Config, g, threads), neuron.NewPorts[F](&n.Config, threads)
	read := n.tensors()
	for i, s := range w.Specs {
		if !s.Trained || !read[s.Name] || frozen(&n.Config, s.Name) {
			n.held = append(n.held, i)
			continue
		}
		v := w.At(i)
		n.params = append(n.params, &grad.Param[F]{Name: s.Name, Shape: s.Dims, Value: v, Grad: make([]F, len(v))})
	}
	n.Replaced()
	return n, nil
}

// tensors are the names that a window reads.
func (n *Network[F]) tensors() map[string]bool {
	read := map[string]bool{"head.read": true, "head.code_bias": true}
	for _, name := range n.ports.Tensors() {
		read[name] = true
	}
	for _, s := range n.Weights.Specs {
		for _, prefix := range []string{"n.", "s4.spec", "s5.", "edge.", "boundary.text.", "cm.f."} {
			if strings.HasPrefix(s.Name, prefix) {
				read[s.Name] = true
			}
		}
	}
	return read
}

// frozen reports whether a tensor that a window reads has no gradient there: the
// distance beyond which outputs are aligned is a choice, the residual's weight
// matters if there is one, and the ports' common logits, to which each port's
// own are added, stay where training of the reference left them.
func frozen(c *config.Config, name string) bool {
	switch {
	case strings.HasPrefix(name, "port.") && strings.HasSuffix(name, ".tau"), strings.HasPrefix(name, "port.base."):
		return true
	case name == "n.rho":
		return !c.RhoOn
	case name == "port.generator.mhc":
		return c.Thinkers == 1
	}
	return false
}

// Params are the weights that a window trains, with their gradients.
func (n *Network[F]) Params() []*grad.Param[F] { return n.params }

// Changed says that weights have changed: what is derived from them is made anew
// by the next window.
func (n *Network[F]) Changed() { n.bound = false }

// bind derives what depends on the weights alone, if they have changed.
func (n *Network[F]) bind() {
	if !n.bound {
		n.grid.Bind(n.Weights)
		n.bound = true
		n.version++
	}
}

// Fixed are the values of tensors that a window trains nothing of: the codebook,
// σ_d, and the parts of a network that streams do not use.
func (n *Network[F]) Fixed() [][]F {
	var out [][]F
	for _, i := range n.held {
		out = append(out, n.Weights.At(i))
	}
	return out
}

// Replaced says that any of the weights, the codebook among them, have other
// values now.
func (n *Network[F]) Replaced() {
	n.codes = neuron.NewCodes(n.Weights.Of("codebook.text"), n.Config.DE, F(n.Config.Tau))
	n.bound = false
}

// Spread moves σ_d, the scale of the consistency model, towards the root mean
// square that a stream saw in its last window.
func (n *Network[F]) Spread(s *Stream[F]) {
	v := n.Weights.Of("cm.sigma_d")
	v[0] = F(float64(v[0])*spreadEMA + float64(s.rms)*(1-spreadEMA))
	n.bound = false
}

// CodeBias starts the bias per code at the logarithm of how often each code
// occurs in a text, with half a count added [R-2.3c]. Codes beyond counts do not
// occur.
func (n *Network[F]) CodeBias(counts []int) {
	if !n.Config.CodeBias {
		return
	}
	total := 0
	for _, c := range counts {
		total += c
	}
	bias := n.Weights.Of("head.code_bias")
	for i := range bias {
		var c float64
		if i < len(counts) {
			c = float64(counts[i])
		}
		bias[i] = F(math.Log((c + .5) / (float64(total) + float64(len(bias))/2)))
	}
}

// A codesError is codes that do not fit a network.
type codesError struct {
	Op        string
	Want, Got int
}

func (e *codesError) Error() string {
	return fmt.Sprintf("network: %s: want %d, got %d", e.Op, e.Want, e.Got)
}
