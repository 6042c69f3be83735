package watch

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a child inherits.
const (
	fdMemory = 3 + iota
	fdSignals
)

// A slot of the shared memory. The first is the process's: its word is set by [Done].
type slot struct {
	entered, used uint32
	length        uint32
	text          [500]byte
}

// slots is how many places have a name. Memory is taken for those in use alone.
const slots = 8192

// seals keep a page from being cut off, which would kill who touches it. They also mark the memory as ours.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

const memoryBytes = slots * int(unsafe.Sizeof(slot{}))

func mapped(fd int) ([]slot, error) {
	b, err := unix.Mmap(fd, 0, memoryBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return unsafe.Slice((*slot)(unsafe.Pointer(&b[0])), slots), nil
}

// memory makes the shared memory.
func memory() (*os.File, []slot, error) {
	fd, err := unix.MemfdCreate("atenia-watch", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "atenia-watch")
	if err = f.Truncate(int64(memoryBytes)); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	}
	s := []slot(nil)
	if err == nil {
		s, err = mapped(fd)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, s, nil
}

// Run runs this program again with arguments and an environment and waits for it. It returns the exit status, 128 and the number for
// a signal that is no fault, or an [*EndError] if foreign code ended it, or another error if it could not be started.
func Run(args, env []string) (status int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	f, shared, err := memory()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer w.Close()
	c := exec.Command(self, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env, c.ExtraFiles = env, []*os.File{f, r}
	signals, gone, forwarded := make(chan os.Signal, 8), make(chan struct{}), make(chan bool)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	err = c.Start()
	r.Close()
	if err != nil {
		return 0, err
	}
	go func() {
		any := false
		for {
			select {
			case s := <-signals:
				any = true
				w.Write([]byte{byte(s.(syscall.Signal))}) // an error: it is gone
			case <-gone:
				forwarded <- any
				return
			}
		}
	}()
	err = c.Wait()
	close(gone)
	asked := <-forwarded
	if c.ProcessState == nil {
		return 0, &EndError{How: err.Error()}
	}
	return judge(c.ProcessState.Sys().(syscall.WaitStatus), shared, asked)
}

// judge says how a child ended. asked: a signal was forwarded, after which it may end anywhere.
func judge(s syscall.WaitStatus, shared []slot, asked bool) (int, error) {
	e := &EndError{}
	for i := range shared[1:] {
		if p := &shared[1+i]; p.used != 0 && p.entered != 0 {
			e.Places = append(e.Places, string(p.text[:min(int(p.length), len(p.text))]))
		}
	}
	if s.Signaled() {
		switch s.Signal() {
		case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS:
			e.Crash, e.How = true, s.Signal().String()
			return 0, e
		}
		return 128 + int(s.Signal()), nil
	}
	if shared[0].entered != 0 || asked {
		return s.ExitStatus(), nil
	}
	e.How = "exit status " + strconv.Itoa(s.ExitStatus())
	return 0, e
}

// The child's side.
var (
	mu     sync.Mutex
	shared []slot   // nil: this process is not watched
	pipe   *os.File // signals
	once   sync.Once
)

// Join makes this process the child that [Run] started. Call it first, once. Without a parent it does nothing.
func Join() {
	if got, err := unix.FcntlInt(fdMemory, unix.F_GET_SEALS, 0); err != nil || got != seals {
		return
	}
	for fd := fdMemory; fd <= fdSignals; fd++ { // not for its own children
		unix.CloseOnExec(fd)
	}
	s, err := mapped(fdMemory)
	unix.Close(fdMemory)
	if err != nil {
		return
	}
	shared, pipe = s, os.NewFile(fdSignals, "signals")
}

// Joined reports whether this process is watched.
func Joined() bool { return shared != nil }

// Done says that the process ends by its own will from here on.
func Done() {
	if shared != nil {
		shared[0].entered = 1
	}
}

// Notify is signal.Notify for os.Interrupt and SIGTERM, which come from the parent if there is one. Its channel is
// never stopped then.
func Notify(to chan<- os.Signal) {
	if shared == nil {
		signal.Notify(to, os.Interrupt, syscall.SIGTERM)
		return
	}
	// Those of a terminal are for the parent. A handler, unlike SIG_IGN, is not inherited by children.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	go func() {
		for b := []byte{0}; ; {
			if n, err := pipe.Read(b); n == 0 || err != nil {
				to <- syscall.SIGTERM
				return
			}
			to <- syscall.Signal(b[0])
		}
	}()
}

// New makes a place. In a watched process it leaves fault signals to the kernel: see [DefaultFaults].
func New(what string) *Place {
	if shared == nil {
		return &Place{new(uint32)}
	}
	once.Do(DefaultFaults)
	mu.Lock()
	defer mu.Unlock()
	for i := range shared[1:] {
		if s := &shared[1+i]; s.used == 0 {
			s.length = uint32(copy(s.text[:], strings.ToValidUTF8(what, "?")))
			s.entered, s.used = 0, 1
			return &Place{&s.entered}
		}
	}
	return &Place{new(uint32)} // one too many has no name
}

// Free gives a place's name back. It may be entered and left no more.
func (p *Place) Free() {
	mu.Lock()
	defer mu.Unlock()
	for i := range shared {
		if s := &shared[i]; &s.entered == p.word {
			s.entered, s.used = 0, 0
		}
	}
}

// DefaultFaults leaves fault signals to the kernel, without a core dump: the process ends at once, and the parent
// notices. Go's handler would print a trace of all goroutines first, which does not help to debug a C library.
func DefaultFaults() {
	var standard struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for _, sig := range []syscall.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT} {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
	}
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
