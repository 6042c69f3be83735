//go:build (amd64 || arm64) && !static

package amp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
)

// A Process runs one library in a child, which [StartProcess] starts. It is a
// [Maker]; its instances may be used by several threads, whose requests are serialized.
type Process struct {
	path    string
	cfg     ProcessConfig
	timeout int64 // ns

	latch     latch
	active    atomic.Pointer[lane] // nil: none yet
	misses    int                  // consecutive timeouts; guarded by the latch
	timeouts  atomic.Int64
	suspended atomic.Bool

	mu          sync.Mutex // guards all below
	closed      bool
	quarantined bool
	lanes       []*lane // all that ever existed: a thread without a P may still read one
	spare       *lane
	added       []*addition
	states      []int // sizes of their snapshots
	pieces      []piece
	used        int // bytes of the region
	crashes     history
	crashCount  int
	done        sync.WaitGroup
	stop        chan struct{}
}

// A lane is one child with its region.
type lane struct {
	p       *Process
	cmd     *exec.Cmd
	r       region
	pidfd   int
	orders  *os.File
	replies *bufio.Reader
	files   []*os.File
	talk    sync.Mutex // serializes orders
	seq     uint32     // of the last request
	pending bool       // not answered yet
	dead    atomic.Bool
}

// StartProcess loads a library in a child process. Call [Process.Close] when its
// instances are no longer used.
func StartProcess(path string, cfg ProcessConfig) (*Process, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("isolate: Config.Command is not set")
	}
	p := &Process{path: path, cfg: cfg, timeout: int64(cfg.Timeout), used: offPieces, stop: make(chan struct{})}
	if p.timeout <= 0 {
		p.timeout = int64(defaultTimeout)
	}
	p.mu.Lock()
	l, err := p.spawn()
	if err == nil {
		p.active.Store(l)
		p.warm()
	}
	p.mu.Unlock()
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// spawn starts a child and sends it all instances. p.mu is held.
func (p *Process) spawn() (*lane, error) {
	l := &lane{p: p, pidfd: -1}
	r, mem, err := newRegion()
	if err != nil {
		return nil, err
	}
	l.r = r
	p.lanes = append(p.lanes, l)
	theirIn, ourOut, err1 := os.Pipe()
	ourIn, theirOut, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	l.orders, l.replies, l.files = ourOut, bufio.NewReader(ourIn), []*os.File{ourOut, ourIn}
	l.cmd = exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...)
	l.cmd.ExtraFiles = []*os.File{mem, theirIn, theirOut}
	l.cmd.Env = append(l.cmd.Environ(), "GOMAXPROCS=2")
	err = l.cmd.Start()
	for _, f := range l.cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		ourOut.Close()
		ourIn.Close()
		return nil, err
	}
	if l.pidfd, err = unix.PidfdOpen(l.cmd.Process.Pid, 0); err != nil {
		l.pidfd = -1
	}
	p.done.Go(func() { p.watch(l) })
	h := hello{Library: p.path, Format: p.cfg.Format, NoMetrics: p.cfg.NoMetrics}
	if p.cfg.Manifest != nil {
		h.Manifest = p.cfg.Manifest.Encode()
	}
	if _, err = l.ask(h); err != nil {
		l.cmd.Process.Kill()
		return nil, fmt.Errorf("%s, in a separate process: %w", p.path, err)
	}
	for _, a := range p.added {
		if _, err = l.ask(order{Add: a}); err != nil {
			l.cmd.Process.Kill()
			return nil, err
		}
	}
	return l, nil
}

// ask sends an order and waits for the reply.
func (l *lane) ask(v any) (r reply, err error) {
	l.talk.Lock()
	defer l.talk.Unlock()
	if err := json.NewEncoder(l.orders).Encode(v); err != nil {
		return r, err
	}
	if err := receive(l.replies, &r); err != nil {
		return r, fmt.Errorf("the process ended: %w", err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// warm starts a spare child, if configured. p.mu is held.
func (p *Process) warm() {
	if p.cfg.Spare && p.spare == nil && !p.closed && !p.quarantined {
		p.spare, _ = p.spawn() // without one, a crash costs a process start
	}
}

// watch waits for a child's end and replaces it.
func (p *Process) watch(l *lane) {
	l.cmd.Wait()
	l.dead.Store(true)
	l.r.store(offResponse, gone)
	wake(l.r.word(offResponse))
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
	if p.suspended.Load() { // killed because it did not answer
		return
	}
	p.crashCount++
	delay, quarantined := p.crashes.crash(time.Now())
	if p.quarantined = quarantined; quarantined {
		return
	}
	p.replace(l, delay)
	p.warm()
}

// replace puts the spare, or a new child, in the place of one that is gone,
// with its last snapshots. p.mu is held.
func (p *Process) replace(old *lane, delay time.Duration) {
	next := p.spare
	p.spare = nil
	if next == nil || next.dead.Load() {
		if delay > 0 {
			p.mu.Unlock()
			select {
			case <-time.After(delay):
			case <-p.stop:
			}
			p.mu.Lock()
			if p.closed {
				return
			}
		}
		var err error
		if next, err = p.spawn(); err != nil {
			return // requests keep returning Crashed
		}
	}
	for i, a := range p.added {
		h := at[header](&old.r, a.At)
		slot := h.Saved & 1
		n := int(h.SavedBytes[slot])
		if h.Saved == 0 || n > p.states[i] {
			continue
		}
		piece := &p.pieces[i]
		copy(values[byte](&next.r, piece.slot(2, p.states[i]), n), values[byte](&old.r, piece.slot(int(slot), p.states[i]), n))
		next.ask(order{Restore: &restoration{i, n}}) // if rejected: starts from the initial state
	}
	p.active.Store(next)
}

// acquire waits until the process is free and has a usable child. On success
// the latch is held.
func (p *Process) acquire(raw bool) (*lane, graph.Code) {
	p.latch.lock(raw)
	l := p.active.Load()
	code := graph.Success
	switch {
	case p.suspended.Load():
		code = graph.Timeout
	case l == nil || l.dead.Load():
		code = graph.Crashed
	case l.pending:
		code = p.wait(l, raw) // the late answer is discarded, the child continues
	}
	if code != graph.Success {
		p.latch.unlock()
		return nil, code
	}
	return l, code
}

// exchange makes a request of n prepared calls and waits for the answer. The
// latch is held.
func (p *Process) exchange(l *lane, n int, raw bool) graph.Code {
	*at[cpu.FloatEnv](&l.r, offEnv) = cpu.GetFloatEnv()
	l.r.store(offCount, uint32(n))
	if l.seq++; l.seq == gone {
		l.seq = 1
	}
	l.pending = true
	l.r.store(offRequest, l.seq)
	wake(l.r.word(offRequest))
	return p.wait(l, raw)
}

// wait waits for the answer to the last request.
func (p *Process) wait(l *lane, raw bool) graph.Code {
	until := int64(0)
	for {
		got := l.r.load(offResponse)
		if got == l.seq {
			l.pending, p.misses = false, 0
			return graph.Success
		}
		if got == gone || l.dead.Load() {
			return graph.Crashed
		}
		if until == 0 && changed(l.r.word(offResponse), got) {
			continue
		}
		t := now()
		if until == 0 {
			until = t + p.timeout
		}
		if t >= until {
			break
		}
		sleep(l.r.word(offResponse), got, until-t, raw)
	}
	p.timeouts.Add(1)
	if p.misses++; p.misses >= timeoutLimit {
		p.suspended.Store(true)
		l.kill()
	}
	return graph.Timeout
}

// kill ends a child that does not answer, without entering the runtime.
func (l *lane) kill() {
	if l.pidfd >= 0 {
		syscall.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(l.pidfd), uintptr(unix.SIGKILL), 0, 0, 0, 0)
	}
}

// ProcessStatus is the condition of an isolated library.
type ProcessStatus struct {
	Crashes     int   // children that died
	Timeouts    int64 // requests without an answer in time
	Suspended   bool  // after three consecutive timeouts, until Resume
	Quarantined bool  // after three crashes in a minute, until Resume
	Ready       bool  // a child is running and can be asked
}

// Status returns the current condition. Poll it to report crashes to the user.
func (p *Process) Status() ProcessStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.active.Load()
	return ProcessStatus{p.crashCount, p.timeouts.Load(), p.suspended.Load(), p.quarantined, l != nil && !l.dead.Load() && !p.suspended.Load()}
}

// Events is [Library.Events] of the library in the child. What happened in a child that died since it was last asked is
// lost with it. Do not call it on a real-time thread.
func (p *Process) Events() []Event {
	l := p.active.Load()
	if l == nil || l.dead.Load() {
		return nil
	}
	r, err := l.ask(order{Events: true})
	if err != nil {
		return nil // the child is gone, which Status tells
	}
	return r.Events
}

// Resume restarts a suspended or quarantined library, with a new child and the
// last snapshots.
func (p *Process) Resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.quarantined && !p.suspended.Load() {
		return nil
	}
	old := p.active.Load()
	p.active.Store(nil)
	old.cmd.Process.Kill()
	p.crashes, p.quarantined = history{}, false
	p.replace(old, 0)
	if p.active.Load() == nil {
		p.active.Store(old)
		return &LoadError{Path: p.path, Code: graph.Crashed, Err: errors.New("no new process could be started")}
	}
	p.latch.lock(abi.OnSystemStack())
	p.misses = 0
	p.latch.unlock()
	p.suspended.Store(false)
	return nil
}

// Close ends the child. Instances must not be used any more.
func (p *Process) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.stop)
	for _, l := range p.lanes {
		if l.cmd != nil && l.cmd.Process != nil {
			l.cmd.Process.Kill()
		}
	}
	p.mu.Unlock()
	p.done.Wait()
	for _, l := range p.lanes {
		l.r.unmap()
		if l.pidfd >= 0 {
			unix.Close(l.pidfd)
		}
	}
	return nil
}

// New32 makes an instance that computes in float32.
func (p *Process) New32(cfg node.Config) (node.Instance[float32], error) {
	return newRemoteInstance[float32](p, cfg)
}

// New64 makes an instance that computes in float64.
func (p *Process) New64(cfg node.Config) (node.Instance[float64], error) {
	return newRemoteInstance[float64](p, cfg)
}
