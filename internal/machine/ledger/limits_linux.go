package ledger

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A limits reads how much the process may map by its own limits, RLIMIT_AS and
// RLIMIT_DATA: beyond them the system refuses memory, whatever the machine has.
type limits struct {
	statm io.ReaderAt // nil where there is none
	text  [256]byte   // its content
	now   unix.Rlimit
}

// threadSpare is the address space that is left to the system's threads.
const threadSpare = 256 << 20

// open prepares for readings; the file stays open as long as the process.
func (l *limits) open() {
	if f, err := os.Open("/proc/self/statm"); err == nil {
		l.statm = f
	}
}

// read returns the limit with the least left and what is left of it, in bytes; 0 if
// there is none. It allocates nothing.
func (l *limits) read() (limit, left int64) {
	space, data := l.limit(unix.RLIMIT_AS), l.limit(unix.RLIMIT_DATA)
	if space == 0 && data == 0 || l.statm == nil {
		return 0, 0
	}
	n, _ := l.statm.ReadAt(l.text[:], 0)
	page := int64(os.Getpagesize())
	for _, of := range [...]struct {
		limit int64
		field int   // of the file: pages of address space, of which the sixth are writable and private
		spare int64 // for threads that are yet to start, whose stacks and arenas take address space
	}{{space, 0, threadSpare}, {data, 5, 0}} {
		if of.limit == 0 {
			continue
		}
		if rest := max(0, of.limit-field(l.text[:n], of.field)*page-of.spare); limit == 0 || rest < left {
			limit, left = of.limit, rest
		}
	}
	return limit, left
}

// limit returns one limit in bytes, 0 if there is none.
func (l *limits) limit(resource int) int64 {
	if unix.Getrlimit(resource, &l.now) != nil || l.now.Cur >= 1<<60 {
		return 0
	}
	return max(1, int64(l.now.Cur))
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
