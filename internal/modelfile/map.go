package modelfile

import (
	"fmt"
	"os"
)

// A Part is one file that holds tensors.
type Part struct {
	Path  string
	Bytes int64 // size of the file
	Data  int64 // offset of its data section
	data  []byte
	unmap func() error
}

// mapFile makes a file's bytes readable without reading them. The pages come
// in when they are touched.
func mapFile(path string) (*Part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping keeps the file
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &FormatError{File: path, Want: "a regular file", Got: st.Mode().Type().String()}
	}
	p := &Part{Path: path, Bytes: st.Size()}
	n := int(st.Size())
	if n == 0 {
		return p, nil // nothing to map; the parser says what is missing
	}
	if int64(n) != st.Size() {
		return nil, &FormatError{File: path, Want: "a file that this machine can address", Got: fmt.Sprintf("%d bytes", st.Size())}
	}
	if p.data, p.unmap, err = mapBytes(f, n); err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return p, nil
}

// close gives the mapping back.
func (p *Part) close() error {
	p.data = nil
	if p.unmap == nil {
		return nil
	}
	err := p.unmap()
	p.unmap = nil
	return err
}

// Advice tells the system how mapped bytes will be used. It never changes
// what they hold.
type Advice uint8

// The kinds of advice.
const (
	WillNeed   Advice = iota // soon: read ahead
	Random                   // here and there: do not read ahead
	Sequential               // from the start to the end
	DontNeed                 // not for long: the pages may go, and are read again when touched
)

const numAdvices = int(DontNeed) + 1
