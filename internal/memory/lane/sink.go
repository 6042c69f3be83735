package lane

import (
	"bufio"
	"io"
)

// A LineSink receives the lines of a timeline, without line feeds.
type LineSink interface {
	Line(string)
}

// Lines is a sink that keeps every line.
type Lines []string

// Line appends.
func (l *Lines) Line(s string) { *l = append(*l, s) }

// A LineWriter is a sink that writes lines to a file or a pipe. It stops at the first
// write error, which [LineWriter.Flush] returns, so that a failing log does not stop
// the work.
type LineWriter struct {
	w *bufio.Writer
}

// NewLineWriter returns a sink that writes to w, buffered.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{bufio.NewWriter(w)} }

// Line writes s and a line feed.
func (t *LineWriter) Line(s string) {
	t.w.WriteString(s) // bufio remembers the first error
	t.w.WriteByte('\n')
}

// Flush writes the buffered lines and returns the first error of any write.
func (t *LineWriter) Flush() error { return t.w.Flush() }
