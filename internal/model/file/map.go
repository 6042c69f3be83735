package file

import (
	"fmt"

	"atenia/internal/store/durable"
)

// A Part is one file that holds tensors.
type Part struct {
	Path  string
	Bytes int64 // size of the file
	Data  int64 // offset of its data section
	data  []byte
	unmap func() error
}

// mapFile maps a file. Its pages are read on first touch.
func mapFile(path string) (*Part, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, wrongKind(path, err)
	}
	defer f.Close() // the mapping outlives the descriptor
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &Part{Path: path, Bytes: st.Size()}
	n := int(st.Size())
	if n == 0 {
		return p, nil // nothing to map; the parser reports what is missing
	}
	if int64(n) != st.Size() {
		return nil, &FormatError{File: path, Want: "a file that this machine can address", Got: fmt.Sprintf("%d bytes", st.Size())}
	}
	if p.data, p.unmap, err = mapBytes(f, n); err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return p, nil
}

// close unmaps the file.
func (p *Part) close() error {
	p.data = nil
	if p.unmap == nil {
		return nil
	}
	err := p.unmap()
	p.unmap = nil
	return err
}

// Advice tells the system how mapped bytes will be used. It never changes their
// content.
type Advice uint8

// The kinds of advice.
const (
	WillNeed   Advice = iota // needed soon: read ahead
	Random                   // random access: do not read ahead
	Sequential               // sequential access
	DontNeed                 // not needed for a while: the pages may be evicted, and are read again when touched
)

const numAdvices = int(DontNeed) + 1
