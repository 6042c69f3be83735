package timeline

import (
	"bufio"
	"io"
)

// A Sink receives the lines of a timeline, without line feeds.
type Sink interface {
	Line(string)
}

// Lines is a sink that keeps every line.
type Lines []string

// Line appends.
func (l *Lines) Line(s string) { *l = append(*l, s) }

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
