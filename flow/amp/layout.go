package amp

import (
	"atenia/flow/amp/internal/abi"
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
	offCaller   = 144 // the caller's thread, which the child's scheduling follows
	offPriority = 148 // SCHED_FIFO priority of the child's thread, 0 without
	offRefused  = 152 // the error number with which the system refused it
	offList     = 192 // the instances that are called
	maxBatch    = 256
	offLogs     = 4096 // of the child, and of the spare
	logBytes    = (abi.LogBytes + pageBytes - 1) &^ (pageBytes - 1)
	offPieces   = offLogs + 2*logBytes

	gone = ^uint32(0) // an answer that only the host writes: the child is gone

	regionBytes    = 64 << 20 // per library; committed on first touch
	maxSnapshot    = 4 << 20
	maxRemotePorts = 64
	lineLimit      = 64 << 20 // of a control message
	headerBytes    = 160 + 2*maxRemotePorts*16
	entryBytes     = 32
	queueBytes     = 512 << 10 // of a node: what it missed, to be computed afterwards
	queueShare     = 64        // of the room that is left in the region, so that there is some for many nodes
	leastQueue     = 4         // calls
	mostQueue      = 1024
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
	opNone // a queued call that ended a child, and is not made again
)

// A header is the fixed part of an instance's piece. Both processes write it,
// in turn.
type header struct {
	Op, Code         int32
	Tokens, Produced int32 // Tokens of a backward call
	Frame0           int64
	Heat             float64
	Delay            int32
	Final            uint32
	Bytes            uint32 // of the state in the explicit slot
	Saved            uint32 // number of snapshots taken; the latest is in slot Saved&1
	SavedBytes       [2]uint32
	SavedCall        [2]uint64 // the last queued call that each has seen
	Head             uint64    // number of the last call that the host queued
	Done             uint64    // of the last one that was made
	Doing            uint64    // of the one that is being made, Done in between
	Restart          uint64    // of the last reset: what was before it does not matter
	Reserved         [6]float32
	Events           uint32 // of a backward call
	_                uint32
	_                [3]uint64
	Tensor           [2 * maxRemotePorts]dims // parameters of a backward call, then the gradients that it requests
}

// A queued is one call in an instance's queue: this, the shapes of the parameters, inputs and parameters.
type queued struct {
	Op, Tokens int32 // opForward, opReset or opNone
	Frame0     int64
	Final      uint32
	Events     uint32
	_          [2]uint32
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
	Queue      int // bytes of the queue
}

// A piece holds the offsets of an instance's data in the region. Inputs and parameters are at offsets from an entry of
// the queue, since calls wait there until the child has made them; a backward call has the entry after the last one.
//
//	header │ entry 0 │ entry 1 │ … │ backward │ outputs, gradients │ snapshot 0 │ snapshot 1 │ state to load or save
type piece struct {
	head             int
	queue            int // offset of the first entry
	entry, depth     int // bytes of an entry, number of entries
	in, out, param   []int
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
	p := piece{head: a.At, end: entryBytes + 16*len(spec.Params)}
	take := func(bytes int) int {
		at := (p.end + 63) &^ 63
		p.end = at + bytes
		return at
	}
	rows := a.Rows.B * a.Rows.C
	for _, s := range a.InShape {
		p.in = append(p.in, take(s.B*s.C*a.MaxTokens*size))
	}
	for _, s := range spec.Params {
		p.param = append(p.param, take(max(rows*a.MaxTokens, len(s.Value.Data))*size))
	}
	if n := eventBytes(spec.Caps); n > 0 {
		p.events = take(n)
	}
	p.entry = (p.end + 63) &^ 63
	p.depth = min(max(a.Queue/p.entry, leastQueue), mostQueue)
	p.queue = (a.At + headerBytes + 63) &^ 63
	p.end = p.queue + (p.depth+1)*p.entry
	for _, s := range a.InShape {
		p.dIn = append(p.dIn, take(s.B*s.C*a.MaxTokens*size))
	}
	for _, s := range a.OutShape {
		p.out = append(p.out, take(s.B*s.C*a.MaxTokens*size))
		p.dOut = append(p.dOut, take(s.B*s.C*a.MaxTokens*size))
	}
	for _, s := range spec.Params {
		p.dParm = append(p.dParm, take(max(rows*a.MaxTokens, len(s.Value.Data))*size))
		sums := rows
		if s.Table {
			sums = len(s.Value.Data)
		}
		p.sum = append(p.sum, take(sums*8))
		p.sumLen = append(p.sumLen, sums)
	}
	p.end = (p.end + 63) &^ 63
	p.state = p.end
	return p
}

// call returns the offset of a call's entry, 0 for a backward call.
func (p *piece) call(number uint64) int {
	if number == 0 {
		return p.queue + p.depth*p.entry
	}
	return p.queue + int(number%uint64(p.depth))*p.entry
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
		Log       int    // offset of the log
		NoMetrics bool
		Manifest  []byte // nil: the library describes itself
	}
	order struct {
		Add     *addition
		Restore *restoration
		State   *int // the instance whose SaveState is wanted
		Events  bool // what happened since the last such order is asked for
		Serve   bool // answer requests from now on
	}
	restoration struct{ Instance, Slot, Bytes int }
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
