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
	// ErrTorn is returned if the last line is incomplete because its writer was
	// killed; the records before it are intact.
	ErrTorn = errors.New("the last line is not complete")
	// ErrFormat is returned for a line that is not a record.
	ErrFormat = errors.New("not a record of a decision")
	// ErrIO is returned if reading or writing fails.
	ErrIO = errors.New("input or output failed")
)

// A LogError says where a log is invalid.
type LogError struct {
	Kind   error // [ErrTorn], [ErrFormat] or [ErrIO]
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

// Read yields the lines of a log. An error, always a [*LogError], comes last;
// for a line that is not a record, Raw is set. The sequence is single-use.
func Read(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		l := Line{Number: 1}
		var raw []byte
		for {
			var err error
			raw, err = readLine(in, raw[:0])
			if err == io.EOF && len(raw) == 0 {
				return
			}
			l.Raw = bytes.TrimSuffix(raw, []byte("\n"))
			fault := &LogError{Line: l.Number, Offset: l.Offset}
			switch {
			case err == io.EOF:
				fault.Kind = ErrTorn
			case errors.Is(err, errLong):
				fault.Kind, fault.Err = ErrFormat, err
			case err != nil:
				fault.Kind, fault.Err = ErrIO, err
			default:
				if l.Record, err = Parse(l.Raw); err != nil {
					fault.Kind, fault.Err = ErrFormat, err
				}
			}
			if fault.Kind != nil {
				l.Record = Record{}
				yield(l, fault)
				return
			}
			if !yield(l, nil) {
				return
			}
			l.Number++
			l.Offset += int64(len(raw))
		}
	}
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
