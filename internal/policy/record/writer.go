package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"atenia/internal/store/durable"
)

// A WriterConfig configures a [Writer].
type WriterConfig struct {
	Path string
	// Sync waits for the disk after every record, so that not even a power failure
	// loses one. Without it, only a power failure does.
	Sync bool
	FS   durable.FS // nil: the operating system's
}

// A Writer is a listener that appends records to a file, each with a single
// write, and ends the log when it is closed. After an error it stops writing,
// because later records would break the chain, and the log gets no end;
// [Writer.Err] and [Writer.Close] return the error. A log has one writer at a
// time.
type Writer struct {
	mu   sync.Mutex
	f    durable.File
	sync bool
	pipe bool  // or a terminal: has no offsets
	end  int64 // offset of the next line
	mark end   // of the records so far
	buf  []byte
	err  error
}

// Open opens a log to append to, or creates it. Its end is removed until the
// writer is closed, and so is an incomplete last line, left by a killed process.
// The record is the last one in the file, to continue from, or nil.
func Open(cfg WriterConfig) (*Writer, *Record, error) {
	fsys := durable.Default(cfg.FS)
	_, statErr := fsys.Stat(cfg.Path)
	f, err := fsys.OpenFile(cfg.Path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, &LogError{Kind: errIO, Err: err}
	}
	w := &Writer{f: f, sync: cfg.Sync}
	last, err := w.resume()
	w.mark = EndAfter(last)
	if err == nil && statErr != nil && cfg.Sync { // make the name durable too
		err = fsys.SyncDir(filepath.Dir(cfg.Path))
	}
	if err != nil {
		if _, ok := errors.AsType[*LogError](err); !ok {
			err = &LogError{Kind: errIO, Offset: w.end, Err: err}
		}
		return nil, nil, fmt.Errorf("%s: %w", cfg.Path, errors.Join(err, f.Close()))
	}
	return w, last, nil
}

// resume finds the last record and truncates the file after it.
func (w *Writer) resume() (*Record, error) {
	st, err := w.f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		w.pipe, w.sync = true, false
		return nil, nil // the log has no complete record
	}
	tail, at, err := w.tail(st.Size())
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(tail, '\n') + 1
	if at == 0 && end == 0 && len(tail) > 0 && !begins(tail) {
		return nil, &LogError{Kind: ErrForeign}
	}
	begin := lastLine(tail, end)
	mark := tail[begin:end]
	if isEnd(mark) {
		end, begin = begin, lastLine(tail, begin)
	} else {
		mark = nil
	}
	w.end = at + int64(begin)
	var last *Record
	if end > 0 {
		r, err := Parse(tail[begin : end-1])
		if err != nil {
			return nil, &LogError{Kind: errFormat, Offset: w.end, Err: err}
		}
		last = &r
	}
	w.end = at + int64(end)
	if mark != nil {
		if err := parseEnd(bytes.TrimSuffix(mark, []byte("\n")), last); err != nil {
			return nil, &LogError{Kind: errEnd, Offset: w.end, Err: err}
		}
	}
	if w.end < st.Size() {
		return last, w.f.Truncate(w.end)
	}
	return last, nil
}

// lastLine returns where the last line of text begins that ends at end.
func lastLine(text []byte, end int) int {
	return bytes.LastIndexByte(text[:max(end-1, 0)], '\n') + 1
}

// tail reads the end of the file back to at least its last three line feeds,
// those of a record and of an end, or all of it.
func (w *Writer) tail(size int64) (tail []byte, at int64, err error) {
	for n := int64(1 << 16); ; n *= 4 {
		at = max(0, size-n)
		tail = make([]byte, size-at)
		if _, err := w.f.ReadAt(tail, at); err != nil && len(tail) > 0 {
			return nil, 0, err
		}
		if at == 0 || bytes.Count(tail, []byte("\n")) > 2 {
			return tail, at, nil
		}
		if n > 2*maxLine {
			return nil, 0, &LogError{Kind: errFormat, Offset: at, Err: errLong}
		}
	}
}

// Decided appends a record.
func (w *Writer) Decided(r *Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line, err := r.AppendLine(w.buf[:0])
	w.append(line, err)
	w.mark, w.buf = EndAfter(r), line
}

// append writes a line, unless it could not be made.
func (w *Writer) append(line []byte, err error) {
	if w.err != nil {
		return
	}
	if err == nil {
		line = append(line, '\n')
		if w.pipe {
			_, err = w.f.Write(line)
		} else {
			_, err = w.f.WriteAt(line, w.end)
		}
	}
	if err == nil && w.sync {
		err = w.f.Sync()
	}
	if err != nil {
		if !w.pipe {
			_ = w.f.Truncate(w.end) // if that fails, the reader reports a torn line
		}
		w.err = &LogError{Kind: errIO, Offset: w.end, Err: err}
		return
	}
	w.end += int64(len(line))
}

// Err returns the error that stopped the writer, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the log, syncs and closes the file. It returns the writer's first
// error. A second call fails and changes nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.append(w.mark.AppendLine(nil), nil)
	err := w.err
	if err == nil && !w.pipe {
		if e := w.f.Sync(); e != nil {
			err = &LogError{Kind: errIO, Offset: w.end, Err: e}
		}
	}
	if e := w.f.Close(); err == nil && e != nil {
		err = &LogError{Kind: errIO, Offset: w.end, Err: e}
	}
	w.err = errors.Join(err, os.ErrClosed)
	return err
}
