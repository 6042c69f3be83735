// Package call runs one call of a network: what is said to it, a look at
// itself, and what it says, in the simple form of phases 0, 2 and 5.
//
//	phase 0  a code's embedding is turned by its position and said by the boundary
//	phase 2  one tick without a code: masks open, every iteration of stream D
//	phase 5  K ticks, the ports, logits over codes; the code that is chosen is
//	         said to the network again
//
//	Model  a network ready to be called: grid, ports, codes
//	Call   one session
//
// A network that learned from streams has never had a tick without a code. So
// phase 2 runs on the session and leaves its traces and the need vector, but the
// recurrent channels are put back as they were.
package call

import (
	"errors"
	"fmt"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/network"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/sxlm"
	"atenia/quila/internal/weights"
)

// text is the modality of codes that are said and written.
const text = 0

// A Model is a network that can be called. It and its calls belong to one
// goroutine at a time.
type Model struct {
	c       *config.Config
	w       *weights.Set[float32]
	grid    *grid.Grid
	ports   *neuron.Ports[float32]
	stepper *neuron.Stepper[float32]
	book    *boundary.Book // codebook.text, frozen
	work    *grad.Work[float32]
	read    []float32        // head.read [D_e, D]
	bias    []float32        // head.code_bias, or nil
	turn    network.RopeCode // of the leading turned dimensions of an embedding
	turned  int
	stores  *sxlm.Stores // or nil
}

// NewPorts prepares a network. threads may be nil.
func New(c *config.Config, g *weights.Graph, w *weights.Set[float32], threads *grad.Threads) (*Model, error) {
	gr, err := grid.New(c, g, w, threads)
	if err != nil {
		return nil, err
	}
	p := neuron.NewPorts[float32](c, threads)
	m := &Model{
		c: c, w: w, grid: gr, ports: p, stepper: neuron.NewStepper(p, w, c.WMQTopK), work: grad.NewWork[float32](threads),
		read: w.Of("head.read"),
	}
	if m.book, err = boundary.NewBook(w.Of("codebook.text"), c.V, c.DE); err == nil {
		err = m.book.Freeze(nil)
	}
	if err != nil {
		return nil, err
	}
	if c.CodeBias {
		m.bias = w.Of("head.code_bias")
	}
	if m.turned = c.RopeDims; m.turned < 0 {
		m.turned = c.DE
	}
	if m.turned > 0 {
		m.turn, err = network.NewRope(m.turned, 1, network.Kronecker)
	}
	return m, err
}

// Book is the codebook that codes are looked up in and compared with. It is
// frozen, and counts who uses it.
func (m *Model) Book() *boundary.Book { return m.book }

// Grid is the model's grid, for what a call begins with.
func (m *Model) Grid() *grid.Grid { return m.grid }

// Remember gives the model its stores. Calls that have begun do not have them.
func (m *Model) Remember(s *sxlm.Stores) { m.stores = s }

// SetOrder sets the order in which ports scan neurons; nil is by id.
func (m *Model) SetOrder(order []int32) error { return m.ports.SetOrder(order) }

// A Call is one session: its grid, its ports' slots and queue, its position.
type Call struct {
	m        *Model
	session  *grid.Session
	one      [1]*grid.Session
	code     [1]int32
	step     neuron.Step[float32]
	embed    []float32
	y        []float32
	logits   []float32
	position uint64
	heard    int
	kept     *grid.Copy // scratch of phase 2
	traces   []float32
	memory   memory
}

// errCall is what errors of codes match.
var errCall = errors.New("bad call")

// A codeError is a code that the codebook does not have.
type codeError struct{ Code, Codes int }

// Error names the code.
func (e *codeError) Error() string {
	return fmt.Sprintf("call: code %d: the codebook has %d", e.Code, e.Codes)
}

// Is reports whether target is [errCall].
func (e *codeError) Is(target error) bool { return target == errCall }

// Start begins a call. Noise, if a temperature asks for it, depends on the seed.
func (m *Model) Start(seed uint64) *Call {
	c := m.c
	k := &Call{m: m, session: m.grid.Session(seed), embed: make([]float32, c.DE), y: make([]float32, c.DE), logits: make([]float32, c.V)}
	k.one[0] = k.session
	k.step = neuron.Step[float32]{
		Phase: 5, Slots: make([]float32, m.ports.Slots()*c.D), E: make([]float32, c.DE),
		M: make([]float32, c.D), Confidence: make([]float32, 1),
	}
	if c.WMQRead {
		k.step.Queue = neuron.NewQueue[float32](c, 1)
	}
	k.remember()
	return k
}

// Say says a code to the network and lets it think: phase 0, K ticks, the ports.
// [Call.Logits] then has what it would say next.
func (k *Call) Say(code int32, temperature float64) error {
	c := k.m.c
	if code < 0 || int(code) >= c.V {
		return &codeError{int(code), c.V}
	}
	k.code[0] = code
	if err := k.m.book.Lookup(boundary.Encoder, k.step.E, k.code[:]); err != nil {
		return err
	}
	copy(k.embed, k.step.E) // the queue has rows as they are in the codebook
	if n := k.m.turned; n > 0 {
		base := []float64{float64(k.m.w.Of("rope.text")[0])}
		if err := network.ApplyRope(k.m.turn, k.embed[:n], k.embed[:n], []uint64{k.position}, base); err != nil {
			return err
		}
	}
	k.position++
	k.heard++
	if err := k.session.Inject(text, k.embed); err != nil {
		return err
	}
	for range c.K {
		if err := k.tick(grid.Options{Phase: 5, Temperature: temperature, Quiet: temperature == 0}); err != nil {
			return err
		}
	}
	if err := k.lookUp(code); err != nil {
		return err
	}
	return k.ports(5)
}

// ports runs the ports over what the neurons have now.
func (k *Call) ports(phase int) error {
	st, slot := k.session.View()
	if st.B != 1 || slot != 0 {
		return fmt.Errorf("call: the session shares a batch of %d", st.B)
	}
	k.step.Phase = phase
	k.step.X, k.step.Conf, k.step.Utility, k.step.Trace, k.step.PTrace = st.HFinal, st.Conf, st.Utility, st.Trace, st.PTrace
	if err := k.m.stepper.Step(&k.step); err != nil {
		return err
	}
	if k.m.stores != nil {
		k.m.stores.Manner(k.step.M)
	}
	return nil
}

// Logits are what the network would say: one value a code, valid until the next
// step. Before anything was said they are those of the empty state.
func (k *Call) Logits() []float32 {
	m := k.m
	m.work.MulT(k.y, k.step.M, m.read, 1, m.c.D, m.c.DE)
	if err := m.book.Logits(boundary.Decoder, k.logits, k.y, m.c.Tau); err != nil {
		panic(err) // the shapes are the model's own
	}
	for i, b := range m.bias {
		k.logits[i] += b
	}
	return k.logits
}

// Confidence is the merged confidence of the Thinkers in the last step.
func (k *Call) Confidence() float32 { return k.step.Confidence[0] }

// Reflect is phase 2 in its simple form: a tick without a code, with masks open
// and every iteration of stream D, which counts twice in the session's traces. It
// returns the need vector [D_e], which the codes of blocks are compared with.
func (k *Call) Reflect() ([]float32, error) {
	c := k.m.c
	k.kept = k.session.Copy(k.kept)
	if err := k.tick(grid.Options{Phase: 2, Quiet: true}); err != nil {
		return nil, err
	}
	st, slot := k.session.View()
	k.traces = k.traces[:0]
	mean := make([]float32, c.D)
	for n := range c.N {
		i := n*st.B + slot
		k.traces = append(k.traces, st.Trace[i])
		for d, x := range st.HFinal[i*c.D:][:c.D] {
			mean[d] += x / float32(c.N)
		}
	}
	need := make([]float32, c.DE)
	k.m.work.MulT(need, mean, k.m.w.Of("head.need"), 1, c.D, c.DE)
	k.session.Restore(k.kept)
	for n, x := range k.traces {
		st.Trace[n*st.B+slot] = x
	}
	return need, nil
}

// State copies the channels of the session.
func (k *Call) State() []float32 {
	var out []float32
	for _, f := range k.session.State().Fields() {
		out = append(out, f.Values...)
	}
	return out
}
