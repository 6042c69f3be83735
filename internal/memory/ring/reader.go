package ring

import (
	"context"
	"errors"
	"time"

	"atenia/internal/memory/lane"
)

// submit submits the tasks of all uses whose memory is free.
func (r *Ring) submit() {
	for r.submitNext() {
	}
}

// due reports whether the memory of the next use is free. The user asks.
func (r *Ring) due() bool {
	back := uint64(r.units[r.issue%uint64(len(r.units))].back)
	return r.issue < back || r.released > r.issue-back
}

// submitNext submits the tasks of the next use: a read of each piece, and after
// them, if spans must be moved, an alignment.
func (r *Ring) submitNext() bool {
	r.issue = max(r.issue, r.released) // uses that were skipped
	if !r.due() {
		return false
	}
	n := uint64(len(r.units))
	u := &r.units[r.issue%n]
	x := &u.uses[r.issue/n%2]
	r.mu.Lock()
	if x.left > 0 || r.fail != nil || r.halted || r.closed {
		r.mu.Unlock()
		return false
	}
	*x = use{number: r.issue, left: len(u.pieces) + u.coded, ids: x.ids[:0]}
	if len(u.moves) > 0 {
		x.left++
	}
	r.open += x.left
	r.after = r.after[:0]
	if r.strays > 0 {
		r.afterStrays()
	}
	r.mu.Unlock()
	parity := int(r.issue / n % 2)
	first := u.pieces[0].index
	for k := range u.pieces {
		r.submitPiece(u, x, &u.pieces[k], 2*(first+k)+parity, k > 0)
	}
	if len(u.moves) > 0 {
		t := u.align
		t.Arg = 2*int(r.issue%n) + parity
		x.ids = append(x.ids, r.tasks.Go(t, x.ids...))
	}
	r.issue++
	return true
}

// submitPiece submits the read of a piece and, if it is coded, what decodes it.
// Its stage is free when the chunk before it there is decoded.
func (r *Ring) submitPiece(u *unit, x *use, p *piece, arg int, part bool) {
	t, after, stage := u.read, r.after, 0
	t.Part, t.Bytes, t.Arg = part, uint64(p.size()), arg
	if p.code != nil {
		stage = r.staging.next
		r.staging.next = (stage + 1) % len(r.staging.tasks)
		p.code.stage[arg%2] = stage
		after = append(after, r.staging.tasks[stage])
	}
	id := r.tasks.Go(t, after...)
	x.ids = append(x.ids, id)
	if p.code != nil {
		t = u.decode
		t.Part, t.Bytes, t.Arg = part, uint64(len(p.code.dst)), arg
		r.staging.tasks[stage] = r.tasks.Go(t, id)
		x.ids = append(x.ids, r.staging.tasks[stage])
	}
}

// afterStrays lets the next use wait for all tasks of uses that were released
// too early and whose memory it may take.
func (r *Ring) afterStrays() {
	for i := range r.units {
		for k := range r.units[i].uses {
			if x := &r.units[i].uses[k]; x.left > 0 && x.number < r.released {
				r.after = append(r.after, x.ids...)
			}
		}
	}
}

// wanted reports whether a task of a use should do its work, and counts it.
func (r *Ring) wanted(x *use, read bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil || r.halted || r.closed || x.number < r.released {
		return false
	}
	if read {
		if r.reading++; r.reading == 1 {
			r.since = time.Now()
		}
	}
	return true
}

// finish counts a task of a unit's use that has ended. The last one makes the
// unit ready.
func (r *Ring) finish(unit int, x *use, bytes int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > 0 && err != lane.ErrDropped {
		if r.reading--; r.reading == 0 {
			r.stats.Busy += time.Since(r.since)
		}
		if err == nil {
			r.stats.Read += int64(bytes)
			r.stats.Reads++
		}
	}
	if err != nil {
		x.dropped = true
		if r.fail == nil && err != lane.ErrDropped {
			r.fail = err
			r.ready.Broadcast()
		}
	}
	r.open--
	if x.left--; x.left > 0 {
		return
	}
	if x.number < r.released && r.strays > 0 {
		r.strays--
	}
	if !x.dropped {
		r.loaded[unit] = x.number + 1
	}
	r.ready.Broadcast()
}

// errInterrupted is the error of a task that panicked.
var errInterrupted = errors.New("ring: a read was interrupted")

// The works of a ring's tasks. The argument is the index of a piece or a unit,
// and the parity of the pass.
type (
	reads  Ring
	aligns Ring
)

// Do reads a piece.
func (w *reads) Do(_ context.Context, arg int) (err error) {
	r := (*Ring)(w)
	p := &r.pieces[arg/2]
	x := &r.units[p.unit].uses[arg%2]
	err = lane.ErrDropped
	defer func() { r.finish(p.unit, x, p.size(), err) }()
	if r.wanted(x, true) {
		err = errInterrupted
		if p.code == nil {
			err = p.fetch(r.files, r.verify)
		} else {
			r.readCode(p, arg%2)
			err = nil
		}
	}
	return err
}

// Do moves the spans of a unit to their alignment.
func (w *aligns) Do(_ context.Context, arg int) (err error) {
	r := (*Ring)(w)
	u := &r.units[arg/2]
	x := &u.uses[arg%2]
	err = lane.ErrDropped
	defer func() { r.finish(arg/2, x, 0, err) }()
	if r.wanted(x, false) {
		for _, m := range u.moves {
			copy(m.to, m.from)
		}
		err = nil
	}
	return err
}
