//go:build (amd64 || arm64) && !static

package amp

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"atenia/flow/graph"
	"atenia/internal/machine/cpu"
)

// enter takes the latch, and returns the child that can be asked, or why there is none; no child at all once the process
// is closed. Offline it waits for one that is being started, which costs time instead of blocks.
func (p *Process) enter(raw bool) (*lane, graph.Code) {
	p.latch.lock(raw)
	l := p.active.Load()
	for until := int64(0); l.dead.Load() && !raw && !p.resting.Load() && !p.over.Load(); l = p.active.Load() {
		t := now()
		if until == 0 {
			until = t + p.timeout
		}
		if t >= until {
			break
		}
		p.latch.unlock()
		sleep(p.r.word(offResponse), gone, min(until-t, 1e6), raw)
		p.latch.lock(raw)
	}
	switch {
	case p.over.Load():
		return nil, graph.Crashed
	case l.killed.Load():
		return l, graph.Timeout
	case l.dead.Load():
		return l, graph.Crashed
	}
	return l, graph.Success
}

// pass notes that ns of the stream have passed. The latch is held.
func (p *Process) pass(ns int64) {
	if ns > p.stream.Load() {
		p.stream.Store(ns)
	}
}

// ready waits for the answer to an earlier request, which is discarded: the child has gone on. In real time that is a
// short wait, since other nodes of the block need their time. The latch is held.
func (p *Process) ready(l *lane, raw bool) graph.Code {
	if !l.pending {
		return graph.Success
	}
	limit := p.timeout
	if raw {
		limit /= 8
	}
	return p.wait(l, raw, limit)
}

// exchange makes a request of n prepared calls and waits for the answer. The latch is held.
func (p *Process) exchange(l *lane, n int, raw bool) graph.Code {
	if p.requests.Load()&63 == 0 || raw != p.raw { // threads change rarely, and asking costs a system call
		id, _, _ := syscall.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
		p.r.store(offCaller, uint32(id))
	}
	p.raw = raw
	p.requests.Add(1)
	*at[cpu.FloatEnv](&p.r, offEnv) = cpu.GetFloatEnv()
	p.r.store(offCount, uint32(n))
	if p.seq++; p.seq == gone {
		p.seq = 1
	}
	l.pending = true
	p.r.store(offRequest, p.seq)
	wake(p.r.word(offRequest))
	code := p.wait(l, raw, p.timeout)
	if code == graph.Success {
		p.misses = 0
	}
	return code
}

// wait waits at most limit nanoseconds for the answer to the last request. A child that gives none in time is late, and
// may catch up; one that is late at least three times in a row, for longer than patience, is ended.
func (p *Process) wait(l *lane, raw bool, limit int64) graph.Code {
	until := int64(0)
	for {
		got := p.r.load(offResponse)
		if got == p.seq {
			l.pending = false
			return graph.Success
		}
		if got == gone || l.dead.Load() {
			return graph.Crashed
		}
		if until == 0 && changed(p.r.word(offResponse), got) {
			continue
		}
		t := now()
		if until == 0 {
			until = t + limit
		}
		if t >= until {
			p.missed.Add(1)
			if p.misses++; p.misses == 1 {
				p.since = until - limit
			}
			if p.misses >= timeoutLimit && t-p.since >= p.patience {
				p.kill(l)
			}
			return graph.Timeout
		}
		sleep(p.r.word(offResponse), got, until-t, raw)
	}
}

// kill ends a child that does not answer, without entering the runtime.
func (p *Process) kill(l *lane) {
	l.killed.Store(true)
	if l.pidfd >= 0 {
		syscall.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(l.pidfd), uintptr(unix.SIGKILL), 0, 0, 0, 0)
	}
}

// next returns the entry for one more call of an instance, nil if a child that is late has not made room yet. The latch
// is held.
func (p *Process) next(h *header, place *piece, running bool) *queued {
	number := h.Head + 1
	if running && number-atomic.LoadUint64(&h.Done) > uint64(place.depth) {
		return nil
	}
	return at[queued](&p.r, place.call(number))
}
