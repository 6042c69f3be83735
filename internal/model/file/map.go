package file

import (
	"fmt"
	"io"
	"os"

	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
)

// A Part is one file that holds tensors.
type Part struct {
	Path   string
	Bytes  int64 // size of the file
	Data   int64 // offset of its data section
	data   []byte
	info   os.FileInfo // when it was opened
	unmap  func() error
	forget func()       // ends the watch over the mapping
	block  ledger.Block // of a copy
}

// mapFile maps a file, whose pages are read on first touch, or copies it.
func (d *Description) mapFile(path string) (*Part, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, wrongKind(path, err)
	}
	defer f.Close() // the mapping outlives the descriptor
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &Part{Path: path, Bytes: st.Size(), info: st}
	n := int(st.Size())
	if n == 0 {
		return p, nil // nothing to map; the parser reports what is missing
	}
	if int64(n) != st.Size() {
		return nil, &FormatError{File: path, Want: "a file that this machine can address", Got: fmt.Sprintf("%d bytes", st.Size())}
	}
	if d.copied {
		return p, p.copyFrom(f, n)
	}
	if p.data, p.unmap, err = mapBytes(f, n); err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	p.forget = fault.Watch(p.data, path)
	return p, nil
}

// copyFrom reads the file into memory that no other program can change.
func (p *Part) copyFrom(f *os.File, n int) error {
	block, err := ledger.NewHugeBlock(ledger.Process, ledger.Weights, n)
	if err != nil {
		return fmt.Errorf("copy %s: %w", p.Path, err)
	}
	if _, err := io.ReadFull(f, block.Bytes); err != nil {
		block.Release()
		return fmt.Errorf("copy %s: %w", p.Path, err)
	}
	p.data, p.block = block.Bytes, block
	return nil
}

// intact returns a [*fault.ChangedError] if another program wrote to the file since it
// was mapped. A file that took its name meanwhile is another one.
func (p *Part) intact() error {
	if p.unmap == nil {
		return nil
	}
	now, err := os.Stat(p.Path)
	if err != nil || !os.SameFile(now, p.info) || now.Size() == p.Bytes && now.ModTime().Equal(p.info.ModTime()) {
		return nil
	}
	e := &fault.ChangedError{File: p.Path, Was: p.Bytes, Now: now.Size()}
	if e.Now < e.Was {
		e.Offset = e.Now
	}
	return e
}

// close unmaps the file.
func (p *Part) close() error {
	p.data = nil
	p.block.Release()
	if p.unmap == nil {
		return nil
	}
	p.forget()
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
