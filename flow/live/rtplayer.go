package live

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A LoopPlayer runs a session in real time. Blocks go in and out through rings: [LoopPlayer.Put] and
// [LoopPlayer.Get] may be called while it plays, each by one goroutine per port. The session must
// not be used otherwise meanwhile.
//
// An input whose ring is empty reads zeros for a block; a block for a probe whose ring is
// full is dropped. [LoopPlayer.Dropouts] counts both. A deeper ring tolerates more jitter of the
// host and adds latency.
type LoopPlayer[F node.Float] struct {
	*Loop
	step func() graph.Code
	ins  []loopInlet[F]
	outs []loopOutlet[F]
}

type loopInlet[F node.Float] struct {
	name    string
	ring    *Ring[F]
	buffer  []F // from which the session reads
	starved int64
}

// In an outlet's ring each block is preceded by its number of frames.
type loopOutlet[F node.Float] struct {
	name  string
	rows  int
	ring  *Ring[F]
	slot  []F
	lost  int64
	probe func() node.Tensor[F]
}

// NewLoopPlayer returns a player of a session with rings of depth blocks for every Input, Probe
// and other endpoint of its graph. cfg.Frames is set to the session's; a Rate of 0 plays
// without a clock.
func NewLoopPlayer[F node.Float](s *flow.Session[F], cfg LoopConfig, depth int) (*LoopPlayer[F], error) {
	p := &LoopPlayer[F]{step: s.Step()}
	l := s.Linked()
	for i := range l.Nodes {
		n := &l.Nodes[i]
		switch n.Spec.Endpoint {
		case graph.Fed:
			t, err := s.Input(n.Name)
			if err != nil {
				return nil, err
			}
			r, err := NewRing[F](t.B*t.C*t.N, depth)
			if err != nil {
				return nil, fmt.Errorf("input %s: %w", n.Name, err)
			}
			p.ins = append(p.ins, loopInlet[F]{name: n.Name, ring: r, buffer: t.Data[:t.B*t.C*t.N]})
		case graph.Taken:
			name := n.Name
			view := func() node.Tensor[F] { t, _ := s.Probe(name); return t }
			rows := n.InShape[0].B * n.InShape[0].C
			size := 1 + rows*n.Tokens
			r, err := NewRing[F](size, depth)
			if err != nil {
				return nil, fmt.Errorf("probe %s: %w", n.Name, err)
			}
			p.outs = append(p.outs, loopOutlet[F]{name: n.Name, rows: rows, ring: r, slot: make([]F, size), probe: view})
		}
	}
	cfg.Frames = l.BlockFrames
	var err error
	if p.Loop, err = NewLoop(cfg, p.turn); err != nil {
		return nil, err
	}
	return p, nil
}

// turn runs one block. It runs without a P: see the package's rules.
func (p *LoopPlayer[F]) turn() graph.Code {
	for i := range p.ins {
		in := &p.ins[i]
		if !in.ring.Get(in.buffer) {
			clear(in.buffer)
			in.starved++
		}
	}
	code := p.step()
	for i := range p.outs {
		out := &p.outs[i]
		t := out.probe()
		n := out.rows * t.N
		out.slot[0] = F(t.N)
		copy(out.slot[1:], t.Data[:n])
		if !out.ring.Put(out.slot) {
			out.lost++
		}
	}
	return code
}

// Put queues the next block of an input, [B, C, frames] as [flow.Session.Input] is shaped. It
// returns false if the ring is full: try again later.
func (p *LoopPlayer[F]) Put(name string, block []F) (bool, error) {
	for i := range p.ins {
		if in := &p.ins[i]; in.name == name {
			if len(block) != len(in.buffer) {
				return false, fmt.Errorf("%w: a block of input %s has %d numbers, not %d", ErrConfig, name, len(in.buffer), len(block))
			}
			return in.ring.Put(block), nil
		}
	}
	return false, unknown(graph.Fed, name)
}

// Get dequeues the oldest block of a probe into dst, row after row with frames frames each;
// dst must hold a block. frames is 0 while delays fill. ok is false if no block is available.
func (p *LoopPlayer[F]) Get(name string, dst []F) (frames int, ok bool, err error) {
	for i := range p.outs {
		if out := &p.outs[i]; out.name == name {
			if size := len(out.slot) - 1; len(dst) < size {
				return 0, false, fmt.Errorf("%w: a block of probe %s has up to %d numbers, not %d", ErrConfig, name, size, len(dst))
			}
			frames, ok = out.take(dst)
			return frames, ok, nil
		}
	}
	return 0, false, unknown(graph.Taken, name)
}

// take gets a block from the ring, without the count before it.
func (o *loopOutlet[F]) take(dst []F) (frames int, ok bool) {
	r := o.ring
	slot, ok := r.oldest()
	if !ok {
		return 0, false
	}
	frames = int(slot[0])
	copy(dst, slot[1:1+o.rows*frames])
	r.drop()
	return frames, true
}

func unknown(kind graph.Endpoint, name string) error {
	return &graph.Error{Code: graph.UnknownNode, Path: "$", Names: []string{name}, Text: "no node of type " + kind.String()}
}

// A Dropout is the underruns of an input or the overruns of a probe while a [LoopPlayer] played.
type Dropout struct {
	Port   string
	Blocks int64 // read as zeros (Input), or dropped (Probe)
}

// Dropouts returns the ports that had underruns or overruns. Call it after the end.
func (p *LoopPlayer[F]) Dropouts() []Dropout {
	var all []Dropout
	for i := range p.ins {
		if in := &p.ins[i]; in.starved > 0 {
			all = append(all, Dropout{in.name, in.starved})
		}
	}
	for i := range p.outs {
		if out := &p.outs[i]; out.lost > 0 {
			all = append(all, Dropout{out.name, out.lost})
		}
	}
	return all
}
