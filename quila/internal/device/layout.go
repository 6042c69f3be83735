package device

import (
	"fmt"

	"atenia/quila/config"
)

// The streams of a device.
const (
	batches     = 6
	commStream  = 6
	sumStream   = 7
	firstPort   = 8
	pagesNeuron = 256 // neurons whose parameters are advised together
)

// A Layout is a network's memory on devices: neurons in shards, one a device.
type Layout struct {
	c      *config.Config
	d      Driver
	shards []shard
	ports  Range
}

// A shard is the neurons lo to hi on one device.
type shard struct {
	device, lo, hi int
	params         []Range // of pagesNeuron neurons each
	state, hot     Range
}

// NewLayout takes the memory of a network, advises every page and prefetches
// it. Neurons are split into equal ranges, one a device.
func NewLayout(c *config.Config, d Driver) (*Layout, error) {
	b := c.Budget()
	l := &Layout{c: c, d: d}
	g := d.Devices()
	if g < 1 || g > c.N {
		return nil, fmt.Errorf("device: %d neurons on %d devices: want between 1 and one a neuron", c.N, g)
	}
	neuron := 2 * (b.Counts.PerNeuron + b.Counts.PerEdge*int64(c.Deg))
	perNeuron := (b.StateBytes + b.RingBytes) / int64(c.N)
	for dev := range g {
		s := shard{device: dev, lo: dev * c.N / g, hi: (dev + 1) * c.N / g}
		for i := s.lo; i < s.hi; i += pagesNeuron {
			r, err := l.page(neuron*int64(min(pagesNeuron, s.hi-i)), Param, dev)
			if err != nil {
				return nil, err
			}
			s.params = append(s.params, r)
		}
		var err error
		if s.state, err = l.page(perNeuron*int64(s.hi-s.lo), State, dev); err != nil {
			return nil, err
		}
		hot := int64(s.hi-s.lo) * b.KFEPerNeuron / 2 * int64(4*c.D)
		if s.hot, err = l.page(hot, KFEHot, dev); err != nil {
			return nil, err
		}
		l.shards = append(l.shards, s)
	}
	var err error
	l.ports, err = l.page(2*(b.Counts.Ports+b.Counts.CM+b.Counts.Codebooks), Param, 0)
	if err == nil {
		_, err = l.page(int64(c.Thinkers*c.WMQHot*c.D*4), WMQHot, 0)
	}
	return l, err
}

// page takes managed memory for a device.
func (l *Layout) page(size int64, tag Tag, device int) (Range, error) {
	r, err := l.d.MallocManaged(size, tag)
	if err != nil {
		return Range{}, err
	}
	for _, a := range []Advice{PreferredLocation, AccessedBy} {
		if err := l.d.MemAdvise(r, a, device); err != nil {
			return Range{}, err
		}
	}
	return r, l.d.MemPrefetch(r, device, Stream{device, commStream})
}

// Tick launches one tick: batches of neurons round-robin on streams 0 to 5 of
// every device, the sum over devices after all of them, then on device 0 the
// ports. run, which may be nil, does the work of a batch of neurons.
func (l *Layout) Tick(run func(lo, hi int)) error {
	for _, s := range l.shards {
		for k, page := range s.params {
			lo := s.lo + k*pagesNeuron
			var work func()
			if run != nil {
				work = func() { run(lo, min(lo+pagesNeuron, s.hi)) }
			}
			if err := l.d.Launch("neurons", Stream{s.device, k % batches}, []Range{page, s.state, s.hot}, work); err != nil {
				return err
			}
		}
		sum := Stream{s.device, sumStream}
		for k := range min(batches, len(s.params)) {
			e, err := l.d.Record(Stream{s.device, k})
			if err != nil {
				return err
			}
			if err := l.d.Wait(sum, e); err != nil {
				return err
			}
		}
		if err := l.d.Launch("sum", sum, []Range{s.state}, nil); err != nil {
			return err
		}
	}
	return l.portStep()
}

// portStep launches the ports on device 0, after the sums of all devices.
func (l *Layout) portStep() error {
	var done []Event
	for _, s := range l.shards {
		e, err := l.d.Record(Stream{s.device, sumStream})
		if err != nil {
			return err
		}
		done = append(done, e)
	}
	for p := range 1 + l.c.Thinkers { // the Planner, then every Thinker with its Analysis
		s := Stream{0, firstPort + p}
		for _, e := range done {
			if err := l.d.Wait(s, e); err != nil {
				return err
			}
		}
		if err := l.d.Launch("port", s, []Range{l.ports, l.shards[0].state}, nil); err != nil {
			return err
		}
	}
	return nil
}
