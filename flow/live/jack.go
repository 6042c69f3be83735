package live

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"atenia/internal/machine/library"
)

// The functions of libjack that are used (jack/jack.h, jack/thread.h), and of libc.
const (
	jackOpen = iota
	jackClose
	jackActivate
	jackRate
	jackPeriod
	jackRegister
	jackBuffer
	jackThread
	jackShutdown
	jackXrun
	jackWait
	jackSignal
	jackPorts
	jackConnect
	jackPortName
	jackFree
	jackErrors
	jackInfos
	jackFunctions

	cSemWait = 0
	cSemPost = 1
	cSemInit = 2
	cNothing = 3
)

var jackNames = [jackFunctions]string{
	jackOpen: "jack_client_open", jackClose: "jack_client_close", jackActivate: "jack_activate", jackRate: "jack_get_sample_rate", jackPeriod: "jack_get_buffer_size",
	jackRegister: "jack_port_register", jackBuffer: "jack_port_get_buffer", jackThread: "jack_set_process_thread", jackShutdown: "jack_on_shutdown",
	jackXrun: "jack_set_xrun_callback", jackWait: "jack_cycle_wait", jackSignal: "jack_cycle_signal", jackPorts: "jack_get_ports", jackConnect: "jack_connect",
	jackPortName: "jack_port_name", jackFree: "jack_free", jackErrors: "jack_set_error_function", jackInfos: "jack_set_info_function",
}

// Flags of jack/types.h.
const (
	jackNoStart               = 1
	jackIsInput, jackIsOutput = 1, 2
	jackPhysical              = 4
)

type libraryOfJACK struct {
	f [jackFunctions]uintptr
	c [4]uintptr
}

// libjack loads the libraries once.
var libjack = sync.OnceValues(func() (l libraryOfJACK, err error) {
	if err = bind(l.f[:], jackNames[:], "libjack.so.0"); err == nil {
		err = bind(l.c[:], []string{cSemWait: "sem_wait", cSemPost: "sem_post", cSemInit: "sem_init", cNothing: "labs"}, "libc.so.6")
	}
	if err == nil { // its messages would go to the terminal; a function that does nothing takes them
		library.Call(l.f[jackErrors], l.c[cNothing])
		library.Call(l.f[jackInfos], l.c[cNothing])
	}
	return l, err
})

// jack is the back end of JACK: one client with ports for both directions. The name says to which ports it is
// connected: a pattern of names, "none", or those of the hardware.
type jack struct{}

func (jack) Name() string { return "jack" }

func (j jack) List() ([]Info, error) {
	c, err := j.client()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("JACK, %d Hz, period %d", c.rate, c.period)
	c.shut()
	return []Info{{"jack", text, true, true}}, nil
}

// sem is a sem_t of libc, whose first 32 bits are the value (glibc and musl, 64-bit). Functions that take a pointer and
// are told nothing else by the callback's caller may be callbacks: sem_post counts calls, sem_wait holds a thread.
type sem [4]uint64

func (s *sem) value() uint32 { return atomic.LoadUint32((*uint32)(unsafe.Pointer(s))) }

// A jackClient is the client that an input and an output share.
//
// JACK's own thread would call back into the program. It is held in sem_wait instead, and the player's thread waits for
// the cycles: jack_cycle_wait and jack_cycle_signal may be called by any one thread.
type jackClient struct {
	l            libraryOfJACK
	handle       uintptr
	rate, period int
	call         library.Frame
	park         *sem
	down, late   *sem
	in, out      jackSide
	open         bool // a cycle was begun and not ended
	stopped      atomic.Bool
	starved      atomic.Int64 // cycles without frames to play
	users        atomic.Int32
}

// A jackSide is the ports of one direction, and frames that are not moved yet.
type jackSide struct {
	ports  []uintptr
	queue  *ring
	frames []float32 // of a cycle, interleaved
}

// client connects to the server.
func (jack) client() (*jackClient, error) {
	l, err := libjack()
	if err != nil {
		return nil, err
	}
	c := &jackClient{l: l, park: new(sem), down: new(sem), late: new(sem)}
	name, status := cstring("atenia"), new(uint64)
	c.handle = library.Call(l.f[jackOpen], uintptr(unsafe.Pointer(&name[0])), jackNoStart, uintptr(unsafe.Pointer(status)))
	runtime.KeepAlive(name)
	if c.handle == 0 {
		return nil, fmt.Errorf("no JACK server runs (status %#x)", *status)
	}
	c.rate, c.period = int(uint32(c.host(jackRate))), int(uint32(c.host(jackPeriod)))
	for _, s := range []*sem{c.park, c.down, c.late} {
		library.Call(l.c[cSemInit], uintptr(unsafe.Pointer(s)), 0, 0)
	}
	if c.rate < 1 || c.period < 1 || c.period > maxBlock {
		c.shut()
		return nil, fmt.Errorf("JACK runs at %d Hz with a period of %d frames", c.rate, c.period)
	}
	return c, nil
}

// host calls a function of the client.
func (c *jackClient) host(fn int, args ...uintptr) uintptr {
	return library.Call(c.l.f[fn], append([]uintptr{c.handle}, args...)...)
}

func (c *jackClient) shut() {
	if c.down.value() == 0 {
		c.host(jackClose)
	}
}

func (j jack) Open(in, out *Config) (DeviceStream, DeviceStream, error) {
	c, err := j.client()
	if err != nil {
		return nil, nil, err
	}
	for _, x := range []struct {
		fn  int
		f   uintptr
		arg *sem
	}{{jackThread, c.l.c[cSemWait], c.park}, {jackShutdown, c.l.c[cSemPost], c.down}, {jackXrun, c.l.c[cSemPost], c.late}} {
		c.host(x.fn, x.f, uintptr(unsafe.Pointer(x.arg)))
	}
	var i, o DeviceStream
	if in != nil {
		if err = c.register(&c.in, in, "in", jackIsInput); err == nil {
			i = c.side(in, true)
		}
	}
	if out != nil && err == nil {
		if err = c.register(&c.out, out, "out", jackIsOutput); err == nil {
			s := c.side(out, false)
			// A block that is no part of a period, or of which a period is none, needs frames ahead.
			s.form.Ahead = out.Block - gcd(out.Block, c.period)
			o = s
		}
	}
	if err == nil && int32(c.host(jackActivate)) != 0 {
		err = errors.New("jack: the client cannot be activated")
	}
	if err == nil && in != nil {
		err = c.connect(&c.in, in, jackIsOutput)
	}
	if err == nil && out != nil {
		err = c.connect(&c.out, out, jackIsInput)
	}
	if err != nil {
		c.shut()
		return nil, nil, err
	}
	return i, o, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// register makes the ports of a direction.
func (c *jackClient) register(s *jackSide, cfg *Config, name string, flags uintptr) error {
	kind := cstring("32 bit float mono audio")
	for k := range cfg.Channels {
		n := cstring(fmt.Sprintf("%s_%d", name, k+1))
		p := c.host(jackRegister, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&kind[0])), flags, 0)
		runtime.KeepAlive(n)
		if p == 0 {
			return fmt.Errorf("jack: no port %s_%d", name, k+1)
		}
		s.ports = append(s.ports, p)
	}
	s.frames = make([]float32, c.period*cfg.Channels)
	s.queue = newRing(4 * max(c.period, cfg.Block) * cfg.Channels)
	return nil
}

func (c *jackClient) side(cfg *Config, input bool) *jackStream {
	c.users.Add(1)
	return &jackStream{c: c, input: input, form: Format{Rate: c.rate, Channels: cfg.Channels, Period: c.period, Buffer: 4 * max(c.period, cfg.Block)}}
}

// connect connects the ports to those of the hardware, or to those whose names contain the device's name.
func (c *jackClient) connect(s *jackSide, cfg *Config, flags uintptr) error {
	if cfg.Name == "none" {
		return nil
	}
	if cfg.Name == "" {
		flags |= jackPhysical
	}
	list := c.host(jackPorts, 0, 0, flags)
	if list == 0 {
		return c.unmatched(cfg)
	}
	defer library.Call(c.l.f[jackFree], list)
	at, k := list, 0
	for ; k < len(s.ports); at += unsafe.Sizeof(at) {
		p := *(*uintptr)(foreign(at))
		if p == 0 {
			break
		}
		if name := gostring(p); cfg.Name != "" && !strings.Contains(name, cfg.Name) {
			continue
		}
		own := library.Call(c.l.f[jackPortName], s.ports[k])
		from, to := p, own
		if flags&jackIsInput != 0 {
			from, to = own, p
		}
		c.host(jackConnect, from, to)
		k++
	}
	if k == 0 {
		return c.unmatched(cfg)
	}
	return nil
}

func (c *jackClient) unmatched(cfg *Config) error {
	if cfg.Name == "" {
		return nil // a server without hardware: others connect the ports
	}
	return fmt.Errorf("%w: jack:%s: no port's name contains that", ErrName, cfg.Name)
}

// begin waits for a cycle and takes its frames. Move's rules hold, here and below.
func (c *jackClient) begin() Status {
	if c.stopped.Load() {
		return Stopped
	}
	if c.down.value() > 0 {
		return Gone
	}
	c.call.Fn, c.call.Args[0] = c.l.f[jackWait], c.handle
	n := int(uint32(c.call.Do()))
	if n != c.period { // 0: the server has ended; another one: it was told to change its period
		return Gone
	}
	c.open = true
	if s := &c.in; len(s.ports) > 0 {
		for k, p := range s.ports {
			for i, v := range c.samples(p) {
				s.frames[i*len(s.ports)+k] = v
			}
		}
		s.queue.write(s.frames)
	}
	return OK
}

// samples is the memory of a port in this cycle.
func (c *jackClient) samples(port uintptr) []float32 {
	c.call.Fn, c.call.Args[0], c.call.Args[1] = c.l.f[jackBuffer], port, uintptr(c.period)
	return unsafe.Slice((*float32)(foreign(c.call.Do())), c.period)
}

// finish gives the cycle its frames, silence if there are too few.
func (c *jackClient) finish() {
	if s := &c.out; len(s.ports) > 0 {
		if s.queue.held() >= len(s.frames) {
			s.queue.read(s.frames)
		} else {
			clear(s.frames)
			c.starved.Add(1)
		}
		for k, p := range s.ports {
			x := c.samples(p)
			for i := range x {
				x[i] = s.frames[i*len(s.ports)+k]
			}
		}
	}
	c.call.Fn, c.call.Args[0], c.call.Args[1] = c.l.f[jackSignal], c.handle, 0
	c.call.Do()
	c.open = false
}

// A jackStream is one direction of a client.
type jackStream struct {
	c     *jackClient
	input bool
	form  Format
}

func (s *jackStream) Format() Format { return s.form }

func (s *jackStream) Start() error {
	if !s.input {
		s.c.out.queue.write(make([]float32, s.form.Ahead*s.form.Channels))
	}
	return nil
}

func (s *jackStream) Move(x []float32) Status {
	c := s.c
	if s.input {
		for c.in.queue.held() < len(x) {
			if c.open {
				c.finish()
			}
			if r := c.begin(); r != OK {
				return r
			}
		}
		c.in.queue.read(x)
		return OK
	}
	for !c.out.queue.write(x) { // the output of another clock's input: it waits for cycles
		if r := c.cycle(); r != OK {
			return r
		}
	}
	for c.out.queue.held() >= len(c.out.frames) {
		if c.open {
			c.finish()
			continue
		}
		if len(c.in.ports) > 0 {
			return OK // the input begins the next one
		}
		if r := c.cycle(); r != OK {
			return r
		}
	}
	return OK
}

// cycle goes through a whole cycle.
func (c *jackClient) cycle() Status {
	if !c.open {
		if r := c.begin(); r != OK {
			return r
		}
	}
	c.finish()
	return OK
}

func (s *jackStream) Queued() (int, bool) {
	q := s.c.out.queue
	if s.input {
		q = s.c.in.queue
	}
	return q.held() / s.form.Channels, true
}

// ended says that the server will never begin a cycle again: [Player.Run] leaves a thread that waits for one.
func (s *jackStream) ended() bool { return s.c.down.value() > 0 }

func (s *jackStream) Stop() { s.c.stopped.Store(true) }

func (s *jackStream) Err() error {
	if s.c.down.value() > 0 {
		return errors.New("jack: the server has ended")
	}
	return errors.New("jack: the server has ended, or changed its period")
}

// Xruns counts those that the server reports with the input's, and cycles that had no frames with the output's.
func (s *jackStream) Xruns() int64 {
	if s.input {
		return int64(s.c.late.value())
	}
	n := s.c.starved.Load()
	if len(s.c.in.ports) == 0 {
		n += int64(s.c.late.value())
	}
	return n
}

func (s *jackStream) Close() error {
	if s.c.users.Add(-1) == 0 {
		s.c.shut()
	}
	return nil
}
