package sxlm

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	tsecMagic  = "TSEC"
	tsecHead   = 16
	leastEntry = 2 + 1 + 1 + 16 // of an index, without name and dimensions
	maxIndex   = 64 << 20
	maxDims    = 8
)

// A raw is the decompressed content of a block, in memory or in a file.
type raw struct {
	block int
	r     io.ReaderAt
	size  int64
}

func (c *raw) fail(at int64, format string, args ...any) error {
	return fault(StepContainers, c.block, at, format, args...)
}

// read reads n bytes, which the caller knows to be in bounds of a budget.
func (c *raw) read(at, n int64) ([]byte, error) {
	if n < 0 || at > c.size-n {
		return nil, c.fail(at, "%d bytes, the block ends at %d", n, c.size)
	}
	b := make([]byte, n)
	if _, err := c.r.ReadAt(b, at); err != nil && (err != io.EOF || n > 0 && at+n > c.size) {
		return nil, because(StepContainers, c.block, at, "reading", err)
	}
	return b, nil
}

// An entry is a row of an index.
type entry struct {
	kind Kind
	dims []int
	at   int64 // in the raw block; 0 bytes there are a tensor of zeros
	len  int64
	used bool
}

// A section is a TSEC container.
type section struct {
	raw
	names   []string
	entries map[string]*entry
}

// readSection reads the index of a container. Nothing of it is larger than
// limit.
func readSection(c raw, limit int64) (*section, error) {
	head, err := c.read(0, min(tsecHead, c.size))
	if err != nil {
		return nil, err
	}
	if len(head) < tsecHead || string(head[:4]) != tsecMagic {
		return nil, c.fail(0, "no TSEC container")
	}
	le := binary.LittleEndian
	v, n, size := le.Uint32(head[4:]), int64(le.Uint32(head[8:])), int64(le.Uint32(head[12:]))
	switch {
	case v != version:
		return nil, c.fail(4, "container version %d, want %d", v, version)
	case size > c.size-tsecHead || size > maxIndex:
		return nil, c.fail(12, "an index of %d bytes in a block of %d, at most %d", size, c.size, maxIndex)
	case n > size/leastEntry:
		return nil, c.fail(8, "%d tensors in an index of %d bytes", n, size)
	}
	index, err := c.read(tsecHead, size)
	if err != nil {
		return nil, err
	}
	s := &section{raw: c, entries: make(map[string]*entry, n)}
	p := &indexParser{c: &c, b: index, limit: limit, payload: tsecHead + size}
	for range n {
		name, e, err := p.next()
		if err != nil {
			return nil, err
		}
		s.names = append(s.names, name)
		s.entries[name] = e
	}
	if p.at != len(index) {
		return nil, c.fail(tsecHead+int64(p.at), "%d bytes after the last row of the index", len(index)-p.at)
	}
	if end := p.payload + p.end; end != c.size {
		return nil, c.fail(end, "tensors end here, the block at %d", c.size)
	}
	return s, nil
}

// An indexParser reads the rows of an index.
type indexParser struct {
	c       *raw
	b       []byte
	at      int
	last    string
	end     int64 // of the last tensor, from the payload's start
	payload int64
	limit   int64
}

// next reads a row. Tensors follow each other, each at the next multiple of 64
// with zeros before it, so that a set of tensors has one form.
func (p *indexParser) next() (string, *entry, error) {
	le := binary.LittleEndian
	start := int64(tsecHead + p.at)
	bad := func(format string, args ...any) (string, *entry, error) {
		return "", nil, p.c.fail(start, format, args...)
	}
	rest := p.b[p.at:]
	if len(rest) < leastEntry {
		return bad("the index is not complete")
	}
	n := int(le.Uint16(rest))
	if len(rest) < leastEntry+n {
		return bad("the index is not complete")
	}
	name := string(rest[2 : 2+n])
	rest = rest[2+n:]
	e := &entry{kind: Kind(rest[0])}
	ndim := int(rest[1])
	switch {
	case !utf8.ValidString(name) || name == "":
		return bad("the name %q is not UTF-8", name)
	case p.last >= name:
		return bad("%q after %q", name, p.last)
	case e.kind >= kinds:
		return bad("%s has the element type %d", name, rest[0])
	case ndim > maxDims:
		return bad("%s has %d dimensions, at most %d", name, ndim, maxDims)
	case len(rest) < 2+8*ndim+16:
		return bad("the index is not complete")
	}
	count := uint64(kindBytes[e.kind])
	for k := range ndim {
		d := le.Uint64(rest[2+8*k:])
		hi, lo := bits.Mul64(count, d)
		if hi != 0 || lo > math.MaxInt64 || d > math.MaxInt64 {
			return bad("the dimensions of %s overflow", name)
		}
		count = lo
		e.dims = append(e.dims, int(d))
	}
	at, size := le.Uint64(rest[2+8*ndim:]), le.Uint64(rest[10+8*ndim:])
	want := uint64(p.end+align-1) / align * align
	have := uint64(p.c.size - p.payload)
	switch {
	case size != 0 && size != count:
		return bad("%s has %d bytes, want %d, or 0 for zeros", name, size, count)
	case count > uint64(p.limit):
		return bad("%s has %d bytes, more than the budget of %d", name, count, p.limit)
	case at != want:
		return bad("%s lies at %d, want %d", name, at, want)
	case at > have || size > have-at:
		return bad("%s ends at %d of %d bytes", name, at+size, have)
	}
	if err := zeros(p.c, p.payload+p.end, int64(want)-p.end); err != nil {
		return "", nil, err
	}
	e.at, e.len = p.payload+int64(at), int64(size)
	p.at += 2 + n + 2 + 8*ndim + 16
	p.last, p.end = name, int64(at+size)
	return name, e, nil
}

// zeros reports bytes between tensors that are not zero.
func zeros(c *raw, at, n int64) error {
	b, err := c.read(at, n)
	if err != nil {
		return err
	}
	for i, x := range b {
		if x != 0 {
			return c.fail(at+int64(i), "the byte %#x between tensors", x)
		}
	}
	return nil
}

// A named tensor is to be written.
type named struct {
	name string
	*Tensor
}

// A container is the raw content of a block that is to be written.
type container interface {
	size() int64
	write(w io.Writer) error
}

// A tsec is a container of tensors.
type tsec struct {
	head    []byte // up to the payload
	tensors []named
	at      []int64 // of the tensors, from the payload's start
	end     int64
	stored  []bool // not all zero
}

// newTSEC lays out tensors, in any order.
func newTSEC(tensors []named) *tsec {
	slices.SortFunc(tensors, func(a, b named) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	t := &tsec{tensors: tensors}
	var index []byte
	le := binary.LittleEndian
	for _, x := range tensors {
		at, size := (t.end+align-1)/align*align, int64(0)
		if !x.zero() {
			size = x.bytes()
		}
		index = append(le.AppendUint16(index, uint16(len(x.name))), x.name...)
		index = append(index, byte(x.Kind), byte(len(x.Dims)))
		for _, d := range x.Dims {
			index = le.AppendUint64(index, uint64(d))
		}
		index = le.AppendUint64(le.AppendUint64(index, uint64(at)), uint64(size))
		t.at, t.stored, t.end = append(t.at, at), append(t.stored, size > 0), at+size
	}
	t.head = append(t.head, tsecMagic...)
	for _, v := range []int{version, len(tensors), len(index)} {
		t.head = le.AppendUint32(t.head, uint32(v))
	}
	t.head = append(t.head, index...)
	return t
}

func (t *tsec) size() int64 { return int64(len(t.head)) + t.end }

func (t *tsec) write(w io.Writer) error {
	if _, err := w.Write(t.head); err != nil {
		return err
	}
	var pad [align]byte
	end := int64(0)
	for i, x := range t.tensors {
		if _, err := w.Write(pad[:t.at[i]-end]); err != nil {
			return err
		}
		end = t.at[i]
		if !t.stored[i] {
			continue
		}
		if err := x.encode(func(b []byte) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
		end += x.bytes()
	}
	return nil
}
