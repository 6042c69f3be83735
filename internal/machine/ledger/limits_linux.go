package ledger

import (
	"bytes"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A limits reads how much the process may map by its own limit of data, RLIMIT_DATA:
// beyond it the system refuses memory, whatever the machine has. RLIMIT_AS is not read:
// what is reserved and never used counts there, too, and mapped files do.
type limits struct {
	statm, stat io.ReaderAt // nil where there is none
	text        [512]byte   // the content of one
	now         unix.Rlimit
	stack       int64 // bytes of a thread's stack
}

// Threads of the program, for each that computes and beside them: the C library, which makes
// them, takes the whole stack of each from the limit. Those to come need what is left.
const (
	threadsEach   = 2
	threadsBeside = 12
)

// open prepares for readings; the file stays open as long as the process.
func (l *limits) open() {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return
	}
	g, err := os.Open("/proc/self/stat")
	if err != nil {
		_ = f.Close() // which was read only
		return
	}
	l.statm, l.stat, l.stack = f, g, 2<<20 // as the C library has it without a limit of stacks
	if unix.Getrlimit(unix.RLIMIT_STACK, &l.now) == nil && l.now.Cur < 1<<40 {
		l.stack = int64(l.now.Cur)
	}
}

// read returns the limit and what is left of it, in bytes; 0 if there is none. It
// allocates nothing.
func (l *limits) read() (limit, left int64) {
	if l.statm == nil || unix.Getrlimit(unix.RLIMIT_DATA, &l.now) != nil || l.now.Cur >= 1<<60 {
		return 0, 0
	}
	n, _ := l.statm.ReadAt(l.text[:], 0)
	limit = max(1, int64(l.now.Cur))
	left = limit - field(l.text[:n], 5)*int64(os.Getpagesize()) // pages that are writable and private
	return limit, max(0, left-max(0, threadsEach*int64(runtime.GOMAXPROCS(0))+threadsBeside-l.threads())*l.stack)
}

// threads returns how many the process has.
func (l *limits) threads() int64 {
	const at = 18 // after the name of the program, which may have spaces
	n, _ := l.stat.ReadAt(l.text[:], 0)
	return field(l.text[bytes.LastIndexByte(l.text[:n], ')')+1:n], at)
}

// field returns a number of a line of numbers.
func field(text []byte, k int) (n int64) {
	for _, c := range text {
		switch {
		case c == ' ' && k == 0:
			return n
		case c == ' ':
			k--
		case k == 0 && c >= '0' && c <= '9':
			n = 10*n + int64(c-'0')
		}
	}
	return n
}
