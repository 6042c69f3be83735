package flow

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// stateMagic begins a saved state and carries its version.
const stateMagic = "atenia.flow.state/2\n"

// ErrState matches the errors of [Session.LoadState] for bytes that are no state, are damaged, or belong to another
// session.
var ErrState = errors.New("not a state of this session")

// SaveState returns the session's state between two blocks: that of every node, the frames in channels and the counts,
// parameters set by the host, gates, and control tokens that wait. [Session.LoadState] of another session of the same
// plan, block size, rate and number type goes on from there bit for bit, also in another process. Measurements, events
// and suspensions are not part of it.
//
// The error names nodes that have state and cannot save it (C nodes without amp_node_save). A session that an error has
// stopped has no state to save.
//
//	magic and version | SHA-256 of the rest | SHA-256 of plan, block, rate, type | counts | parameters | frames | nodes
func (s *Session[F]) SaveState() ([]byte, error) {
	if s.stopped != graph.Success {
		return nil, &RunError{Code: s.stopped, Block: s.block, Text: "stopped by an earlier error: there is no state to save"}
	}
	inst := make([]node.Instance[F], len(s.procs))
	for i, p := range s.procs {
		inst[i] = p.inst
	}
	if names := unsavedNodes(s.link, inst); len(names) > 0 {
		return nil, &graph.Error{Code: graph.Unsupported, Path: s.link.Plan.Root, Names: names, Text: "these nodes have state and cannot save it"}
	}
	id, err := s.identity()
	if err != nil {
		return nil, err
	}
	at := s.save()
	w := &stateWriter{b: append(make([]byte, 0, int(at.bytes())+4096), stateMagic...)}
	sum := len(w.b)
	w.b = append(w.b, make([]byte, sha256.Size)...)
	w.b = append(w.b, id[:]...)
	w.counts(at.block, s.until.Num, s.until.Den)
	w.flags(at.draining, s.thermal.hot)
	for i, q := range at.procs {
		p := s.procs[i]
		w.counts(q.n0, q.first)
		w.flags(q.ended)
		if w.counts(int64(p.owed)); p.owed > 0 {
			putFloats(w, p.call.Out[0].Data)
		}
		for k := range p.params {
			v := &p.params[k]
			putFloats(w, v.Base.Data)
			putFloats(w, v.staged)
			w.counts(int64(v.at), v.since)
		}
	}
	for i, r := range s.readers {
		w.counts(at.readers[i], r.limit)
	}
	w.counts(at.waits...)
	w.counts(at.wrote...)
	w.counts(at.made...)
	for _, g := range s.gates {
		w.counts(int64(len(g.blocks)))
		w.counts(g.blocks...)
	}
	w.tokens(s.applied)
	w.tokens(s.queued)
	for _, f := range at.frames {
		putFloats(w, f)
	}
	for _, q := range at.procs {
		w.counts(int64(q.bytes))
	}
	w.b = append(w.b, at.states...)
	digest := sha256.Sum256(w.b[sum+sha256.Size:])
	copy(w.b[sum:], digest[:])
	return w.b, nil
}

// LoadState puts the session into the state that [Session.SaveState] returned, whatever it did before. Bytes that are
// damaged or belong to another plan, block size, rate or number type are an error that matches [ErrState], and leave the
// session as it was. A node that rejects its part, which none does that saved it, leaves the session reset.
//
// The digest finds damage, not forgery: load states from places that you trust.
func (s *Session[F]) LoadState(state []byte) error {
	p, err := s.readState(state)
	if err != nil {
		return err
	}
	if err := s.loadState(p); err != nil {
		s.Reset()
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

// A savedState is a state read and checked.
type savedState[F node.Float] struct {
	snapshot[F]
	until   graph.Rat
	hot     bool
	owed    []int64    // by process
	held    [][]F      // the block of an Input that owes some
	params  []param[F] // of all processes
	limits  []int64
	gates   [][]int64
	applied []ControlToken
	queued  []ControlToken
}

type param[F node.Float] struct {
	base, staged []F
	at, since    int64
}

// loadState applies a state.
func (s *Session[F]) loadState(p *savedState[F]) error {
	s.Reset()
	ch, k := 0, 0
	for i, r := range s.readers {
		r.limit = p.limits[i]
	}
	for i, q := range s.procs {
		if p.held[i] != nil {
			q.owed = int(p.owed[i])
			copy(q.call.Out[0].Data, p.held[i])
		}
		for j := range q.params {
			v, from := &q.params[j], &p.params[k]
			copy(v.Base.Data, from.base)
			v.staged = append(v.staged[:0], from.staged...)
			if v.at, v.since = int(from.at), from.since; v.pending() {
				s.staged = append(s.staged, v)
			}
			k++
		}
		s.recountHeat(q)
		for _, c := range q.out {
			c.wrote = 0
			if err := s.resize(c, len(p.frames[ch])/max(c.ring.Rows, 1)+c.frames); err != nil {
				return err
			}
			ch++
		}
	}
	for i, g := range s.gates {
		g.blocks = append(g.blocks[:0], p.gates[i]...)
	}
	if err := s.restore(&p.snapshot); err != nil {
		return err
	}
	s.until, s.thermal.hot, s.thermal.joules = p.until, p.hot, s.meter.Joules(Forward)
	s.applied, s.queued = p.applied, p.queued
	return nil
}

// readState decodes a state for this session and checks all that does not depend on a node.
func (s *Session[F]) readState(state []byte) (*savedState[F], error) {
	rest, ok := bytes.CutPrefix(state, []byte(stateMagic))
	if !ok {
		if name, version, _ := strings.Cut(stateMagic, "/"); bytes.HasPrefix(state, []byte(name+"/")) {
			return nil, fmt.Errorf("%w: another version than %s", ErrState, strings.TrimSpace(version))
		}
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrState, stateMagic)
	}
	if len(rest) < 2*sha256.Size || sha256.Sum256(rest[sha256.Size:]) != [sha256.Size]byte(rest) {
		return nil, fmt.Errorf("%w: it is damaged or cut off", ErrState)
	}
	id, err := s.identity()
	if err != nil {
		return nil, err
	}
	if rest = rest[sha256.Size:]; id != [sha256.Size]byte(rest) {
		return nil, fmt.Errorf("%w: it was saved with another plan, block size, rate or number type", ErrState)
	}
	r := &stateReader{b: rest[sha256.Size:]}
	p := &savedState[F]{}
	p.block, p.until.Num, p.until.Den = r.count(0), r.count(0), r.count(1)
	r.want(p.until.Den <= mostDen)
	p.draining, p.hot = r.flag(), r.flag()
	for _, q := range s.procs {
		st := procState{n0: r.count(0), first: r.count(-1), ended: r.flag()}
		r.want(st.first <= p.block)
		var held []F
		owed := r.count(0)
		if r.want(owed <= int64(q.Tokens)); owed > 0 {
			r.want(q.Spec.Endpoint == graph.Fed)
			if !r.bad {
				held = getFloats[F](r, len(q.call.Out[0].Data))
			}
		}
		p.procs, p.owed, p.held = append(p.procs, st), append(p.owed, owed), append(p.held, held)
		for k := range q.params {
			v := &q.params[k]
			rows := v.Base.B * v.Base.C
			x := param[F]{base: getFloats[F](r, len(v.Base.Data)), staged: getFloats[F](r, -1)}
			x.at, x.since = r.count(0), r.count(0)
			r.want(len(x.staged)%max(len(v.Base.Data), 1) == 0 && x.at <= math.MaxInt32 && x.at*int64(rows) <= int64(len(x.staged)) &&
				x.at%int64(max(v.Base.N, 1)) == 0)
			p.params = append(p.params, x)
		}
	}
	for _, e := range s.readers {
		p.readers = append(p.readers, r.count(0))
		limit := r.count(0)
		r.want((limit == 0) == (e.limit == 0) && limit <= channelLimit)
		p.limits = append(p.limits, limit)
	}
	for _, q := range s.procs {
		for range q.waits {
			p.waits = append(p.waits, r.count(0))
		}
	}
	channels := 0
	for _, q := range s.procs {
		channels += len(q.out)
	}
	p.wrote, p.made = r.list(channels), r.list(channels)
	for range s.gates {
		p.gates = append(p.gates, r.list(-1))
	}
	p.applied, p.queued = r.tokens(), r.tokens()
	for _, t := range p.queued {
		if _, _, err := s.override(t.Node, t.Param, t.Values); err != nil {
			r.bad = true
		}
	}
	if !r.bad {
		s.readFrames(r, p)
	}
	size := int64(0)
	for i := range p.procs {
		n := r.count(0)
		r.want(n <= int64(len(r.b)))
		_, stateful := s.procs[i].inst.(node.Stateful[F])
		r.want(stateful || n == 0)
		p.procs[i].bytes, size = int(n), size+n
	}
	if p.states = r.b; r.bad || size != int64(len(r.b)) {
		return nil, fmt.Errorf("%w: its counts contradict each other", ErrState)
	}
	return p, nil
}

// readFrames reads what the channels hold, as much as the cursors of their readers ask for.
func (s *Session[F]) readFrames(r *stateReader, p *savedState[F]) {
	ch := 0
	for _, q := range s.procs {
		for _, c := range q.out {
			wrote, from := p.wrote[ch], p.wrote[ch]
			for _, e := range c.readers {
				cursor := p.readers[e.edge.Index]
				r.want(cursor <= e.prefill+wrote)
				from = min(from, max(0, cursor-e.prefill))
			}
			n := wrote - from
			if r.want(n <= channelLimit); r.bad {
				return
			}
			p.frames = append(p.frames, getFloats[F](r, int(n)*c.ring.Rows))
			ch++
		}
	}
}

// identity is the digest of what a state depends on.
func (s *Session[F]) identity() (id [sha256.Size]byte, err error) {
	plan, err := s.link.Plan.Encode()
	if err != nil {
		return id, err
	}
	plan = binary.LittleEndian.AppendUint64(plan, uint64(s.link.BlockFrames))
	plan = binary.LittleEndian.AppendUint64(plan, math.Float64bits(s.opt.SampleRate))
	return sha256.Sum256(append(plan, byte(unsafe.Sizeof(F(0))))), nil
}

// A stateWriter appends numbers, little-endian.
type stateWriter struct{ b []byte }

func (w *stateWriter) counts(v ...int64) {
	for _, x := range v {
		w.b = binary.LittleEndian.AppendUint64(w.b, uint64(x))
	}
}

func (w *stateWriter) flags(v ...bool) {
	for _, x := range v {
		f := byte(0)
		if x {
			f = 1
		}
		w.b = append(w.b, f)
	}
}

func (w *stateWriter) text(s string) {
	w.counts(int64(len(s)))
	w.b = append(w.b, s...)
}

func (w *stateWriter) tokens(all []ControlToken) {
	w.counts(int64(len(all)))
	for _, t := range all {
		w.counts(t.Block, int64(t.Gate))
		w.text(t.Node)
		w.text(t.Param)
		if w.flags(t.Values != nil); t.Values != nil {
			putFloats(w, t.Values)
		}
	}
}

func putFloats[F node.Float](w *stateWriter, v []F) {
	w.counts(int64(len(v)))
	at := len(w.b)
	w.b = append(w.b, make([]byte, node.FloatBytes[F](len(v)))...)
	node.PutFloats(w.b[at:], v)
}

// A stateReader reads what a stateWriter wrote. After the first fault it is bad and returns zeros.
type stateReader struct {
	b   []byte
	bad bool
}

func (r *stateReader) want(ok bool) { r.bad = r.bad || !ok }

func (r *stateReader) take(n int64) []byte {
	if r.want(n >= 0 && n <= int64(len(r.b))); r.bad {
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// count reads a number between least and 2^62, which leaves room for a sum.
func (r *stateReader) count(least int64) int64 {
	b := r.take(8)
	if r.bad {
		return 0
	}
	v := int64(binary.LittleEndian.Uint64(b))
	r.want(v >= least && v < 1<<62)
	return v
}

func (r *stateReader) flag() bool {
	b := r.take(1)
	if r.bad {
		return false
	}
	r.want(b[0] <= 1)
	return b[0] == 1
}

func (r *stateReader) text() string { return string(r.take(r.count(0))) }

// list reads n counts, or as many as a count before them says if n is negative.
func (r *stateReader) list(n int) []int64 {
	if n < 0 {
		k := r.count(0)
		if r.want(k <= int64(len(r.b)/8)); r.bad {
			return nil
		}
		n = int(k)
	}
	all := make([]int64, n)
	for i := range all {
		all[i] = r.count(0)
	}
	return all
}

func (r *stateReader) tokens() (all []ControlToken) {
	for range r.count(0) {
		t := ControlToken{Block: r.count(0), Gate: int(r.count(math.MinInt32)), Node: r.text(), Param: r.text()}
		if r.flag() {
			t.Values = getFloats[float64](r, -1)
		}
		if r.bad {
			return nil
		}
		all = append(all, t)
	}
	return all
}

// getFloats reads numbers: n of them, or any number of them if n is negative.
func getFloats[F node.Float](r *stateReader, n int) []F {
	k := r.count(0)
	if r.want((n < 0 || k == int64(n)) && k <= int64(len(r.b)/node.FloatBytes[F](1))); r.bad {
		return nil
	}
	v := make([]F, k)
	node.GetFloats(v, r.take(int64(node.FloatBytes[F](int(k)))))
	return v
}
