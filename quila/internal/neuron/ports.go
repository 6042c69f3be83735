package neuron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"atenia/grad"
	"atenia/quila/config"
)

// A Kind is what a port with attention is for.
type Kind uint8

// The kinds, in the order of slots.
const (
	Planner Kind = iota
	Thinker
	Analysis
)

// Kinds are the names of the kinds, as in port.base.planner.
var Kinds = [...]string{"planner", "thinker", "analysis"}

// errInput is the error of inputs that do not fit a network.
var errInput = errors.New("port: input does not fit")

// An inputError says which input does not fit.
type inputError struct {
	What      string
	Want, Got int
}

func (e *inputError) Error() string {
	return fmt.Sprintf("port: %s: %d values where %d are needed", e.What, e.Got, e.Want)
}

func (e *inputError) Unwrap() error { return errInput }

// A Port is one port's place among the others.
type Port struct {
	Name    string // planner, thinker.0, …
	Kind    Kind
	Slot    int   // its own
	Visible []int // slots that its scan sees, in order
	Other   []int // slots whose mean its output is aligned to; none: it is not
}

// Ports is the shape of a network's ports. It does not change while windows and
// steps run.
type Ports[F grad.Float] struct {
	Config  *config.Config
	List    []Port  // those that run, in the order of slots
	order   []int32 // of the scan
	threads *grad.Threads
	desks   []*desk[F]
	free    []*run[F]
	reads   []*readings[F]
	merges  []*merge[F]
	names   [][8]string // of the readers' tensors
}

// NewPorts makes the ports of a network. With the option train_ports = thinkers only
// the Thinkers run, see no slots but neurons, and are not aligned: stream training
// gives the others no task. threads may be nil.
func NewPorts[F grad.Float](c *config.Config, threads *grad.Threads) *Ports[F] {
	p := &Ports[F]{Config: c, threads: threads}
	for i, name := range c.Ports() {
		q := Port{Name: name, Slot: i}
		switch {
		case i == 0:
			q.Kind = Planner
			for j := range c.Thinkers {
				q.Visible, q.Other = append(q.Visible, 1+j), append(q.Other, 1+j)
			}
		case i <= c.Thinkers:
			q.Kind, q.Other = Thinker, []int{0}
			q.Visible = append(q.Visible, 0)
			for j := range c.Thinkers {
				if 1+j != i {
					q.Visible = append(q.Visible, 1+j)
				}
			}
			q.Visible = append(q.Visible, i+c.Thinkers)
		default:
			q.Kind, q.Visible, q.Other = Analysis, []int{i - c.Thinkers}, []int{i - c.Thinkers}
		}
		if c.TrainPorts == "thinkers" {
			if q.Kind != Thinker {
				continue
			}
			q.Visible, q.Other = nil, nil
		}
		p.List = append(p.List, q)
	}
	for range max(1, threads.Count()) {
		p.desks = append(p.desks, newDesk[F]())
	}
	return p
}

// Slots is how many slots the port table has: the Planner's, the Thinkers' and
// the Analyses'.
func (p *Ports[F]) Slots() int { return 2*p.Config.Thinkers + 1 }

// SetOrder sets the order in which scans see neurons: by community, then id
// . nil is by id.
func (p *Ports[F]) SetOrder(order []int32) error {
	if order != nil {
		seen := make([]bool, p.Config.N)
		for _, i := range order {
			if i >= 0 && int(i) < len(seen) {
				seen[i] = true
			}
		}
		if len(order) != len(seen) || slices.Contains(seen, false) {
			return &inputError{"order of the scan", len(seen), len(order)}
		}
	}
	p.order = order
	return nil
}

// Tensors are the names of the tensors that a window reads, besides the read-out:
// its operands, in order.
func (p *Ports[F]) Tensors() []string {
	var names []string
	for i := range p.List {
		names = append(names, p.Operands(i)...)
	}
	names = append(names, "port.generator.mhc")
	if p.Config.WMQRead {
		for i := range p.Config.Thinkers {
			for _, t := range readTensors {
				names = append(names, "port.thinker."+strconv.Itoa(i)+".wmq."+t)
			}
		}
	}
	return names
}

// Operands are the names of the tensors of port i of List, its W_baseline last.
func (p *Ports[F]) Operands(i int) []string {
	own := p.List[i].tensors()
	return own[:]
}

// portTensors are a port's tensors, in the order of operands; its base follows.
var portTensors = []string{"w_r", "w_k", "w_v", "w_decay", "q", "k", "v", "mhc", "compress", "compress_b", "back", "tau", "abg", "slot"}

const (
	tWR = iota
	tWK
	tWV
	tDecay
	tQ
	tK
	tV
	tMHC
	tCompress
	tCompressB
	tBack
	tTau
	tABG
	tSlot
	tBase
	tCount
)

// tensors are the names of a port's operands.
func (q *Port) tensors() (names [tCount]string) {
	for i, t := range portTensors {
		names[i] = "port." + q.Name + "." + t
	}
	names[tBase] = "port.base." + Kinds[q.Kind]
	return names
}

// readTensors are the tensors of a Thinker's reader, in the order of operands.
var readTensors = []string{"r1", "r2", "c", "q", "o", "scale", "slope", "null"}
