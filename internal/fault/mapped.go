package fault

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"unsafe"
)

// A ChangedError says that a file was changed by another program while it was open, so
// that its mapped bytes are not those that were opened, or are gone.
type ChangedError struct {
	File   string
	Offset int64 // of the first byte that is known to be lost; 0 if only the time of the last change shows it
	Was    int64 // size when it was opened
	Now    int64 // size when this was noticed
	// Streamed says that the bytes are read when they are wanted, and not mapped.
	Streamed bool
}

// ErrChanged matches errors about a file that has changed since it was opened.
var ErrChanged = errors.New("the file changed while it was in use")

// Is makes the error match [ErrChanged].
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

func (e *ChangedError) Error() string {
	what := "the file was written to"
	switch {
	case e.Now < e.Was:
		what = fmt.Sprintf("the file has shrunk from %d to %d bytes", e.Was, e.Now)
	case e.Now > e.Was:
		what = fmt.Sprintf("the file has grown from %d to %d bytes", e.Was, e.Now)
	case e.Offset > 0:
		what = "the file was replaced, or its disk failed,"
	}
	at := ""
	if e.Offset > 0 {
		at = fmt.Sprintf(": byte %d", e.Offset)
	}
	s := fmt.Sprintf("%s%s: %s while it was open, as by \"cp new model\": "+
		"write the new file under another name, rename it to this one, and open the model again", e.File, at, what)
	if !e.Streamed {
		s += "; --no-mmap reads a copy instead"
	}
	return s
}

// A mapping is a file in memory.
type mapping struct {
	start, end uintptr
	file       string
	size       int64
}

var mappings struct {
	mu  sync.Mutex
	all []*mapping
}

// Watch names the file whose bytes from its first on are mapped at b, until forget is
// called, which must be before they are unmapped.
func Watch(b []byte, file string) (forget func()) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	// The system maps whole pages.
	page := uintptr(os.Getpagesize())
	m := &mapping{start, (start + uintptr(len(b)) + page - 1) / page * page, file, int64(len(b))}
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	mappings.all = append(mappings.all, m)
	return func() {
		mappings.mu.Lock()
		defer mappings.mu.Unlock()
		mappings.all = slices.DeleteFunc(mappings.all, func(o *mapping) bool { return o == m })
	}
}

// Trap makes reads of lost bytes panics in this goroutine, from now on; [Files],
// [Call] or [Catch] turn them into errors.
func Trap() { debug.SetPanicOnFault(true) }

// Files returns the error of f, or that a mapped file has changed that it read. Other
// panics pass.
func Files(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			e := Changed(v)
			if e == nil {
				panic(v)
			}
			err = e
		}
	}()
	return named(f())
}

// Changed returns the error for a panic with v, if a read of a mapped file made it, and
// nil for others.
func Changed(v any) error {
	err, ok := v.(error)
	if !ok {
		return nil
	}
	if e, ok := errors.AsType[*ChangedError](err); ok {
		return e
	}
	// The type is the runtime's own; the method is documented at SetPanicOnFault.
	a, ok := errors.AsType[interface {
		error
		Addr() uintptr
	}](err)
	if !ok {
		return nil
	}
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	for _, m := range mappings.all {
		if at := a.Addr(); m.start <= at && at < m.end {
			return &ChangedError{m.file, int64(at - m.start), m.size, sizeOf(m.file), false}
		}
	}
	return nil
}

// named says which file it is if the system could not read what it was to write: it
// does not tell the address.
func named(err error) error {
	if !errors.Is(err, syscall.EFAULT) {
		return err
	}
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	for _, m := range mappings.all {
		if is := sizeOf(m.file); is < m.size {
			return errors.Join(&ChangedError{m.file, is, m.size, is, false}, err)
		}
	}
	return err
}

// sizeOf returns the size of a file, 0 if there is none.
func sizeOf(name string) int64 {
	st, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return st.Size()
}
