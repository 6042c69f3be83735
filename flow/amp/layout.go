package amp

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// The shared region: words and the list of calls, then a piece for each
// remoteInstance. The host lays out the region and sends the layout to the child.
const (
	offRequest  = 0   // number of the last request
	offResponse = 64  // number of the last answer
	offCount    = 128 // number of calls in the request
	offEnv      = 136 // floating-point environment of the caller
	offList     = 192 // offsets of the calls' headers
	maxBatch    = 256
	offPieces   = 4096

	gone = ^uint32(0) // an answer that only the host writes: the child is gone

	regionBytes    = 64 << 20 // per library; committed on first touch
	maxSnapshot    = 4 << 20
	maxRemotePorts = 64
	lineLimit      = 64 << 20 // of a control message
	headerBytes    = 96 + 2*maxRemotePorts*16
	pageBytes      = 4096
	maxInstances   = 4096
)

// Operations of a call.
const (
	opForward = iota
	opBackward
	opReset
	opResetAdjoint
	opFinishAdjoint
	opSave
	opLoad
)

// A header is the fixed part of an instance's piece. Both processes write it,
// in turn.
type header struct {
	Op, Code         int32
	Tokens, Produced int32
	Frame0           int64
	Heat             float64
	Delay            int32
	Final            uint32
	Bytes            uint32 // of the state in the explicit slot
	Saved            uint32 // number of snapshots taken; the latest is in slot Saved&1
	SavedBytes       [2]uint32
	Reserved         [6]float32
	Events           uint32
	_                [3]uint32
	Tensor           [2 * maxRemotePorts]dims // parameters, then the gradients that a backward call requests
}

// dims is the shape of a parameter, or says which gradients are requested.
type dims struct{ B, C, N, Flag uint32 }

// The flags of a requested gradient.
const (
	wantFramed = 1 << iota
	wantSum
)

// An addition asks the child to make an instance.
type addition struct {
	Wide       bool // float64
	Node       graph.Node
	Rate       graph.Rat
	InShape    []graph.Shape
	OutShape   []graph.Shape
	Rows       graph.Shape
	SampleRate float64
	MaxTokens  int
	Training   bool
	At         int // offset of its piece in the region
	Params     int // number of its parameters as the host sees them
}

// A piece holds the offsets of an instance's data in the region.
type piece struct {
	head             int
	in, out, param   []int // tensors of a forward call
	dOut, dIn, dParm []int // of a backward call
	sum              []int // float64
	sumLen           []int
	events           int // 0: the type takes none
	state            int // three slots: two snapshots, and one for Save, Load and State0
	end              int // without the slots
}

// lay computes the layout of an instance's piece. Both processes compute it
// from the same values.
func lay(a *addition, spec *graph.Spec) piece {
	size := 4
	if a.Wide {
		size = 8
	}
	p := piece{head: a.At, end: a.At + headerBytes}
	take := func(bytes int) int {
		at := p.end
		p.end += (bytes + 63) &^ 63
		return at
	}
	rows := a.Rows.B * a.Rows.C
	for _, s := range a.InShape {
		p.in = append(p.in, take(s.B*s.C*a.MaxTokens*size))
		p.dIn = append(p.dIn, take(s.B*s.C*a.MaxTokens*size))
	}
	for _, s := range a.OutShape {
		p.out = append(p.out, take(s.B*s.C*a.MaxTokens*size))
		p.dOut = append(p.dOut, take(s.B*s.C*a.MaxTokens*size))
	}
	for _, s := range spec.Params {
		n := max(rows*a.MaxTokens, len(s.Value.Data))
		p.param = append(p.param, take(n*size))
		p.dParm = append(p.dParm, take(n*size))
		sums := rows
		if s.Table {
			sums = len(s.Value.Data)
		}
		p.sum = append(p.sum, take(sums*8))
		p.sumLen = append(p.sumLen, sums)
	}
	if n := eventBytes(spec.Caps); n > 0 {
		p.events = take(n)
	}
	p.state = p.end
	return p
}

// slot returns the offset of a state slot.
func (p *piece) slot(i, bytes int) int { return p.state + i*((bytes+63)&^63) }

// linked makes the linked node that an addition describes.
func (a *addition) linked(spec *graph.Spec) *graph.LinkedNode {
	return &graph.LinkedNode{Node: &a.Node, Spec: spec, Rate: a.Rate, Tokens: a.MaxTokens, Comp: -1,
		InShape: a.InShape, OutShape: a.OutShape, Rows: a.Rows, Fed: true}
}

// Messages of the control pipe.
type (
	hello struct {
		Library   string
		Format    string // "": this package's
		NoMetrics bool
		Manifest  []byte // nil: the library describes itself
	}
	order struct {
		Add     *addition
		Restore *restoration
		State   *int // the instance whose SaveState is wanted
		Events  bool // what happened since the last such order is asked for
	}
	restoration struct{ Instance, Bytes int }
	reply       struct {
		Error    string
		Instance int
		State    int // bytes, 0 without state
		Stateful bool
		Needs    node.Needs
		Events   []Event
		Bytes    []byte // of SaveState
	}
)
