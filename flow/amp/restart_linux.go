//go:build (amd64 || arm64) && !static

package amp

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"atenia/flow/amp/internal/abi"
)

// A restart keeps what the dead child left in the region: snapshots, and the calls that no snapshot has seen.
//
//	calls       … 41 42 43 │ 44 45 46 47        the host queues all, those without an answer too
//	              snapshot ┘    └ it died here
//	new child   loads the snapshot, makes 44 to 47, answers 47
//
// A call that ended a child by a fault of its own is left out. If a node keeps no snapshots, calls that were answered
// are not made again.

// warm starts a spare child, if configured. p.mu is held.
func (p *Process) warm() {
	if p.cfg.Spare && p.spare == nil && !p.closed {
		p.spare, _ = p.spawn() // without one, a crash costs a process start
	}
}

// watch waits for a child's end and replaces it.
func (p *Process) watch(l *lane) {
	l.cmd.Wait()
	l.dead.Store(true)
	if p.active.Load() == l {
		p.gone()
	}
	for _, f := range l.files {
		f.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l == p.spare {
		p.spare = nil // noticed when it is needed
	}
	if p.closed || l != p.active.Load() {
		return
	}
	p.gone()
	killed := l.killed.Load()
	text := p.obituary(l, killed)
	p.left = append(p.left, messages(l.log.DrainDead())...)
	wait, quarantined := p.faults.fault(time.Duration(p.stream.Load()))
	if killed {
		wait = max(wait, backOff)
	} else {
		p.crashCount++
	}
	p.suspended, p.quarantined = killed, quarantined
	p.note(Crash, "%s; it is started again %s", text, after(wait))
	for p.replace(wait) != nil && !p.closed {
		wait, _ = p.faults.fault(time.Duration(p.stream.Load()))
		wait = max(wait, backOff)
	}
}

// gone wakes those who wait for an answer.
func (p *Process) gone() {
	p.r.store(offResponse, gone)
	wake(p.r.word(offResponse))
}

// note adds an event, and drops the oldest of too many. p.mu is held.
func (p *Process) note(k EventKind, format string, args ...any) {
	if len(p.left) >= mostLeft {
		p.left = p.left[1:]
	}
	p.left = append(p.left, Event{Kind: k, Text: fmt.Sprintf(format, args...)})
}

func after(wait time.Duration) string {
	if wait == 0 {
		return "at once"
	}
	return fmt.Sprintf("after %g s of the stream", wait.Seconds())
}

// obituary says how a child ended, where, and what it printed last, and marks the call that is not made again. p.mu is
// held.
func (p *Process) obituary(l *lane, killed bool) string {
	w, _ := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	text, own := "its process ended", true // a fault of its own
	switch {
	case killed:
		text = "its process did not answer and was ended"
	case w.Signaled():
		text = fmt.Sprintf("its process crashed (%v)", w.Signal())
		own = w.Signal() != syscall.SIGKILL && w.Signal() != syscall.SIGTERM
	case w.Exited():
		text = fmt.Sprintf("its process crashed (exit status %d: something called exit)", w.ExitStatus())
	}
	for i, a := range p.added {
		h := at[header](&p.r, a.At)
		if h.Doing <= h.Done {
			continue
		}
		e := at[queued](&p.r, p.pieces[i].call(h.Doing))
		text += fmt.Sprintf(" in node %s at frame %d", a.Node.Name, e.Frame0)
		if own {
			e.Op = opNone
		}
	}
	if said := l.said.String(); said != "" {
		text += ", after printing " + said
	}
	return text
}

// replace puts the spare, or a new child, in the place of one that is gone, once a part of the stream has passed. p.mu
// is held.
func (p *Process) replace(wait time.Duration) error {
	if wait > 0 {
		p.resting.Store(true)
		p.mu.Unlock()
		p.rest(int64(wait))
		p.mu.Lock()
		p.resting.Store(false)
	}
	if p.closed {
		return nil
	}
	next := p.spare
	p.spare = nil
	if next == nil || next.dead.Load() {
		var err error
		if next, err = p.spawn(); err != nil {
			p.note(Crash, "it could not be started again: %v", err)
			return err
		}
	}
	if err := p.activate(next); err != nil {
		p.note(Crash, "it could not be started again: %v", err)
		return err
	}
	p.restarts++
	p.suspended, p.quarantined = false, false
	p.note(Restarted, "its process was started again")
	p.warm()
	return nil
}

// rest waits until ns of the stream have passed.
func (p *Process) rest(ns int64) {
	select {
	case <-p.hurry: // of an earlier rest
	default:
	}
	t := time.NewTicker(time.Millisecond)
	defer t.Stop()
	for until := p.stream.Load() + ns; p.stream.Load() < until; {
		select {
		case <-p.stop:
			return
		case <-p.hurry:
			return
		case <-t.C:
		}
	}
}

// activate gives a child the last snapshots and makes it the one that answers. p.mu is held.
func (p *Process) activate(l *lane) error {
	from := make([]uint64, len(p.added))
	for i, a := range p.added {
		h := at[header](&p.r, a.At)
		slot := int(h.Saved & 1)
		n := int(h.SavedBytes[slot])
		from[i] = h.Done
		if h.Saved > 0 && n <= p.states[i] && h.SavedCall[slot] >= h.Restart {
			if _, err := l.ask(order{Restore: &restoration{i, slot, n}}); err == nil { // if rejected: starts from the initial state
				from[i] = h.SavedCall[slot]
			}
		}
		from[i] = max(from[i], h.Restart)
	}
	if _, err := l.ask(order{Serve: true}); err != nil {
		return err
	}
	p.latch.lock(abi.OnSystemStack())
	defer p.latch.unlock()
	for i, a := range p.added {
		h := at[header](&p.r, a.At)
		h.Done = from[i]
		if kept := uint64(p.pieces[i].depth - 1); h.Head > kept && h.Done < h.Head-kept {
			p.gaps.Add(int64(h.Head - kept - h.Done))
			h.Done = h.Head - kept
		}
		h.Doing = h.Done
	}
	p.misses = 0
	p.r.store(offResponse, 0)
	p.active.Store(l)
	wake(p.r.word(offResponse))
	return nil
}

// A tail keeps the end of what a child prints.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text = append(t.text, b...); len(t.text) > mostPrinted {
		t.text = append(t.text[:0], t.text[len(t.text)-mostPrinted:]...)
	}
	return len(b), nil
}

// String returns the last lines in quotes, "" if there are none.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := strings.TrimSpace(string(t.text)); s != "" {
		return fmt.Sprintf("%q", s)
	}
	return ""
}
