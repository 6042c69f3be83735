package engine

import (
	"bytes"
	"os"
	"strconv"

	"atenia/internal/machine/hw"
)

// A limits reads how much memory this process may have. Reading allocates
// nothing.
type limits struct {
	sampler *hw.Sampler
	statm   *os.File // nil where there is none
	text    [128]byte
}

func newLimits() *limits {
	l := &limits{sampler: hw.NewSampler()}
	l.statm, _ = os.Open("/proc/self/statm")
	return l
}

func (l *limits) close() {
	l.sampler.Close()
	if l.statm != nil {
		l.statm.Close()
	}
}

// others is the part of a limit that a process leaves to others, at most spare
// bytes.
const others = 32

// stalledPressure is the least pressure that a sample has when the system reports
// that programs wait for memory; they may be others, in groups of their own, so
// that counts where less than a quarter is free.
const stalledPressure, mostlyUsed = 0.95, 0.75

// read returns the bytes that this process may have, now: what it has and what
// is free. 0 = unknown. Pages of mapped files count where nothing else is free,
// since the system takes them back. stalled says that programs wait for memory.
func (l *limits) read() (limit int64, stalled bool) {
	s := l.sampler.Sample()
	if !s.Known || l.statm == nil {
		return 0, false
	}
	own, mapped := l.own()
	free := int64(s.AvailableBytes) - min(spare, int64(s.LimitBytes)/others)
	used := 1 - float64(s.AvailableBytes)/float64(max(s.LimitBytes, 1))
	return max(1, own+max(free, mapped)), s.Pressure >= stalledPressure && used >= mostlyUsed
}

// own returns the memory of the process: its own, and pages of files.
func (l *limits) own() (own, mapped int64) {
	n, _ := l.statm.ReadAt(l.text[:], 0)
	_, rest, _ := bytes.Cut(l.text[:n], space)
	resident, rest, _ := bytes.Cut(rest, space)
	shared, _, _ := bytes.Cut(rest, space)
	r, _ := strconv.ParseInt(string(resident), 10, 64) // short, so the copies stay on the stack
	f, _ := strconv.ParseInt(string(shared), 10, 64)
	return (r - f) * pageBytes, f * pageBytes
}

var (
	space     = []byte{' '}
	pageBytes = int64(os.Getpagesize())
)
