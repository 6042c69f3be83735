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
)

// A Process runs one library in a child, which [StartProcess] starts. It is a
// [Maker]; its instances may be used by several threads, whose requests are serialized.
type Process struct {
	path     string
	cfg      ProcessConfig
	timeout  int64 // ns
	patience int64 // ns

	r   region
	mem *os.File // of the region, for the next child

	latch    latch // guards the region's queues, and what follows
	seq      uint32
	misses   int   // waits in a row that ended without an answer
	since    int64 // when the first of them began, in ns
	requests atomic.Int64
	raw      bool                 // the last request came from a thread without a P
	active   atomic.Pointer[lane] // nil: none yet
	stream   atomic.Int64         // ns of the stream that were passed
	missed   atomic.Int64
	gaps     atomic.Int64 // calls that found no room in a queue
	resting  atomic.Bool  // a back-off lasts
	over     atomic.Bool  // closed: the region is not there any more

	mu          sync.Mutex // guards all below
	closed      bool
	quarantined bool
	suspended   bool
	lanes       []*lane // all that ever existed: a thread without a P may still read one
	spare       *lane
	added       []*addition
	states      []int // sizes of their snapshots
	pieces      []piece
	used        int // bytes of the region
	faults      history
	crashCount  int
	restarts    int
	left        []Event
	done        sync.WaitGroup
	stop        chan struct{}
	hurry       chan struct{} // ends a back-off
}

// A lane is one child.
type lane struct {
	p       *Process
	cmd     *exec.Cmd
	pidfd   int
	orders  *os.File
	replies *bufio.Reader
	files   []*os.File
	log     *abi.Callbacks
	at      int        // of the log in the region
	said    tail       // what it printed
	talk    sync.Mutex // serializes orders
	pending bool       // a request is not answered yet
	dead    atomic.Bool
	killed  atomic.Bool // because it did not answer
}

// StartProcess loads a library in a child process. Call [Process.Close] when its
// instances are no longer used.
func StartProcess(path string, cfg ProcessConfig) (*Process, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("amp: ProcessConfig.Command is not set")
	}
	p := &Process{path: path, cfg: cfg, timeout: int64(cfg.Timeout), patience: int64(cfg.Patience), used: offPieces, stop: make(chan struct{}), hurry: make(chan struct{}, 1)}
	if p.timeout <= 0 {
		p.timeout = int64(defaultTimeout)
	}
	if p.patience <= 0 {
		p.patience = max(int64(defaultPatience), timeoutLimit*p.timeout)
	}
	var err error
	if p.r, p.mem, err = newRegion(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l, err := p.spawn()
	if err == nil {
		if err = p.activate(l); err == nil {
			p.warm()
		}
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
	l := &lane{p: p, pidfd: -1, at: offLogs}
	if a := p.active.Load(); a != nil && a.at == l.at {
		l.at += logBytes
	}
	log := values[byte](&p.r, l.at, logBytes)
	clear(log)
	l.log = abi.ReadLog(log)
	p.lanes = append(p.lanes, l)
	theirIn, ourOut, err1 := os.Pipe()
	ourIn, theirOut, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	l.orders, l.replies, l.files = ourOut, bufio.NewReader(ourIn), []*os.File{ourOut, ourIn}
	l.cmd = exec.Command(p.cfg.Command[0], p.cfg.Command[1:]...)
	l.cmd.ExtraFiles = []*os.File{p.mem, theirIn, theirOut}
	l.cmd.Env = append(l.cmd.Environ(), "GOMAXPROCS=2")
	l.cmd.Stdout, l.cmd.Stderr, l.cmd.WaitDelay = &l.said, &l.said, printDelay
	err := l.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		ourOut.Close()
		ourIn.Close()
		return nil, err
	}
	if l.pidfd, err = unix.PidfdOpen(l.cmd.Process.Pid, 0); err != nil {
		l.pidfd = -1
	}
	p.done.Go(func() { p.watch(l) })
	h := hello{Library: p.path, Format: p.cfg.Format, Log: l.at, NoMetrics: p.cfg.NoMetrics}
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

// ProcessStatus is the condition of an isolated library.
type ProcessStatus struct {
	Crashes     int   // children that died, apart from those that were ended because they did not answer
	Restarts    int   // children started in the place of another
	Requests    int64 // one may be the calls of many nodes
	Timeouts    int64 // calls without an answer in time
	Lost        int64 // calls that a node never saw, because too many were waiting for its process
	Suspended   bool  // it did not answer, and will be started again after a back-off
	Quarantined bool  // the same after three faults in a minute of the stream
	Ready       bool  // a child is running and can be asked
	PID         int   // of that child
	Priority    int   // of its thread under SCHED_FIFO; 0: ordinary scheduling
	Refused     error // why the caller's scheduling could not be taken over, nil if it was
}

// Status returns the current condition. Poll it to report crashes to the user.
func (p *Process) Status() ProcessStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.active.Load()
	s := ProcessStatus{Crashes: p.crashCount, Restarts: p.restarts, Requests: p.requests.Load(), Timeouts: p.missed.Load(), Lost: p.gaps.Load(),
		Suspended: p.suspended, Quarantined: p.quarantined}
	if p.closed {
		return s
	}
	s.Priority = int(p.r.load(offPriority))
	if l != nil && !l.dead.Load() && !l.killed.Load() {
		s.Ready, s.PID = true, l.cmd.Process.Pid
	} else if l != nil && l.killed.Load() {
		s.Suspended = true
	}
	if n := p.r.load(offRefused); n != 0 {
		s.Refused = syscall.Errno(n)
	}
	return s
}

// Events is [Library.Events] of the library in the child, its crashes and restarts. Do not call it on a real-time
// thread.
func (p *Process) Events() []Event {
	p.mu.Lock()
	list := p.left
	p.left = nil
	l := p.active.Load()
	if l != nil && !l.dead.Load() && !p.closed {
		list = append(list, messages(l.log.Drain())...)
	}
	p.mu.Unlock()
	if l == nil || l.dead.Load() {
		return list
	}
	r, err := l.ask(order{Events: true})
	if err != nil {
		return list // the child is gone, which the next events tell
	}
	for _, e := range r.Events {
		if e.Kind != Message || p.cfg.Format != "" { // messages of C nodes were in the log
			list = append(list, e)
		}
	}
	return list
}

// Resume ends the back-off of a suspended or quarantined library, and waits until there is a new child.
func (p *Process) Resume() error {
	for {
		p.mu.Lock()
		l := p.active.Load()
		waiting := p.suspended || p.quarantined || l.killed.Load()
		if p.closed || !waiting {
			ready := l != nil && !l.dead.Load()
			p.faults = history{}
			p.mu.Unlock()
			if !p.closed && !ready {
				return &LoadError{Path: p.path, Code: graph.Crashed, Err: errors.New("no new process could be started")}
			}
			return nil
		}
		p.mu.Unlock()
		select {
		case p.hurry <- struct{}{}:
		default:
		}
		time.Sleep(time.Millisecond)
	}
}

// Close ends the child. Instances must not be used any more.
func (p *Process) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.over.Store(true)
	close(p.stop)
	for _, l := range p.lanes {
		if l.cmd != nil && l.cmd.Process != nil {
			l.cmd.Process.Kill()
		}
	}
	p.mu.Unlock()
	p.done.Wait()
	for _, l := range p.lanes {
		if l.pidfd >= 0 {
			unix.Close(l.pidfd)
		}
	}
	p.mem.Close()
	p.r.unmap()
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
