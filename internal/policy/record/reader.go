package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds a line: the inputs of a plan for a model with very many tensors
// take a few MiB.
const maxLine = 64 << 20

// The kinds of a [LogError], for [errors.Is].
var (
	// ErrCut is returned if a log has no end, because its writer was killed or
	// still runs; the records before it are intact.
	ErrCut = errors.New("there is no end mark")
	// errEnd is returned for an end that is not that of the records before it, or
	// that something follows.
	errEnd = errors.New("the end mark is not that of this log")
	// ErrForeign is returned for what is no log of decisions at all.
	ErrForeign = errors.New("this is no log of decisions")
	// errFormat is returned for a line that is not a record.
	errFormat = errors.New("not a record of a decision")
	// errIO is returned if reading or writing fails.
	errIO = errors.New("input or output failed")
)

// A LogError says where a log is invalid.
type LogError struct {
	Kind   error // [ErrCut], [errEnd], [ErrForeign], [errFormat] or [errIO]
	Line   int   // from 1; 0 if unknown
	Offset int64 // of the line's first byte
	Err    error // the cause; nil if there is none
}

func (e *LogError) Error() string {
	s := fmt.Sprintf("decision log, byte %d: %v", e.Offset, e.Kind)
	if e.Line > 0 {
		s = fmt.Sprintf("decision log, line %d at byte %d: %v", e.Line, e.Offset, e.Kind)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the kind and the cause.
func (e *LogError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// A Line is a record with its position in a log.
type Line struct {
	Record
	Raw    []byte // without the line feed; valid until the next line
	Number int    // from 1
	Offset int64  // of its first byte
}

// Read yields the records of a log, up to the line that ends it. An error, always
// a [*LogError], comes last; for a line that is not a record, Raw is set. The
// sequence is single-use.
func Read(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		l := Line{Number: 1}
		var last *Record // before this line
		var raw []byte
		ended := false
		for {
			var err error
			raw, err = readLine(in, raw[:0])
			if ended && err == io.EOF && len(raw) == 0 {
				return
			}
			l.Raw = bytes.TrimSuffix(raw, []byte("\n"))
			fault := &LogError{Line: l.Number, Offset: l.Offset}
			switch {
			case errors.Is(err, errLong):
				fault.Kind, fault.Err = errFormat, err
			case err != nil && err != io.EOF:
				fault.Kind, fault.Err = errIO, err
			case ended:
				fault.Kind, fault.Err = errEnd, errors.New("something follows it")
			case err == io.EOF:
				fault.Kind = ErrCut
				switch {
				case len(raw) > 0:
					fault.Err = errTorn
				case l.Number == 1:
					fault.Err = errEmpty
				}
			case isEnd(l.Raw):
				if ended, err = true, parseEnd(l.Raw, last); err != nil {
					fault.Kind, fault.Err = errEnd, err
				}
			default:
				if l.Record, err = Parse(l.Raw); err != nil {
					fault.Kind, fault.Err = errFormat, err
				}
			}
			if l.Number == 1 && (fault.Kind == errFormat || fault.Kind == ErrCut) && !begins(l.Raw) {
				fault.Kind = ErrForeign
			}
			if fault.Kind != nil {
				l.Record = Record{}
				yield(l, fault)
				return
			}
			if !ended {
				if !yield(l, nil) {
					return
				}
				was := l.Record
				last = &was
			}
			l.Number++
			l.Offset += int64(len(raw))
		}
	}
}

// What is cut.
var (
	errTorn  = errors.New("the last line is not complete")
	errEmpty = errors.New("it is empty")
)

// begins reports whether a line is the begin of a log, or of its first line.
func begins(line []byte) bool {
	for _, start := range []string{`{"seq":0,`, endStart} {
		if n := min(len(start), len(line)); string(line[:n]) == start[:n] {
			return true
		}
	}
	return false
}

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// readLine appends a line with its line feed to buf.
func readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if buf = append(buf, part...); err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return buf, err
		}
		if len(buf) > maxLine {
			return buf, errLong
		}
	}
}
