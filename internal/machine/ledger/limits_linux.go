package ledger

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A limits reads how much the process may map by its own limit of data, RLIMIT_DATA:
// beyond it the system refuses memory, whatever the machine has. RLIMIT_AS is not read:
// what is reserved and never used counts there, too, and mapped files do.
type limits struct {
	statm io.ReaderAt // nil where there is none
	text  [256]byte   // its content
	now   unix.Rlimit
}

// open prepares for readings; the file stays open as long as the process.
func (l *limits) open() {
	if f, err := os.Open("/proc/self/statm"); err == nil {
		l.statm = f
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
	return limit, max(0, limit-field(l.text[:n], 5)*int64(os.Getpagesize())) // pages that are writable and private
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
