package timeline

import (
	"bufio"
	"io"
	"slices"
)

// A Sink receives the lines of a timeline, without line feeds.
type Sink interface {
	Line(string)
}

// Lines is a sink that keeps every line.
type Lines []string

// Line appends.
func (l *Lines) Line(s string) { *l = append(*l, s) }

// A Ring is a sink that keeps the latest lines, for long-running programs. Its
// zero value keeps none.
type Ring struct {
	lines []string
	total uint64
}

// NewRing returns a ring of n lines.
func NewRing(n int) *Ring { return &Ring{lines: make([]string, max(n, 0))} }

// Line replaces the oldest line by s.
func (r *Ring) Line(s string) {
	if n := uint64(len(r.lines)); n > 0 {
		r.lines[r.total%n] = s
	}
	r.total++
}

// Last returns the kept lines, oldest first.
func (r *Ring) Last() []string {
	n := uint64(len(r.lines))
	if r.total < n || n == 0 {
		return slices.Clone(r.lines[:min(r.total, n)])
	}
	at := r.total % n
	return slices.Concat(r.lines[at:], r.lines[:at])
}

// Total counts all lines, including those overwritten.
func (r *Ring) Total() uint64 { return r.total }

// A Text is a sink that writes lines to a file or a pipe. It stops at the first
// write error, which [Text.Flush] returns, so that a failing log does not stop
// the work.
type Text struct {
	w *bufio.Writer
}

// NewText returns a sink that writes to w, buffered.
func NewText(w io.Writer) *Text { return &Text{bufio.NewWriter(w)} }

// Line writes s and a line feed.
func (t *Text) Line(s string) {
	t.w.WriteString(s) // bufio remembers the first error
	t.w.WriteByte('\n')
}

// Flush writes the buffered lines and returns the first error of any write.
func (t *Text) Flush() error { return t.w.Flush() }

// Tee is a sink that passes lines to several sinks, in order.
type Tee []Sink

// Line passes s to every sink.
func (t Tee) Line(s string) {
	for _, sink := range t {
		sink.Line(s)
	}
}
