package file

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"atenia/tensor"
)

const (
	magic        = "GGUF"
	version      = 3  // the version written; 2 has the same layout
	alignDefault = 32 // when general.alignment is absent
	alignMost    = 1 << 30
	maxDims      = 4 // GGML_MAX_DIMS
	alignmentKey = "general.alignment"

	minEntry  = 8 + 1 + 4 + 1         // key of one byte, u8 value
	minTensor = 8 + 1 + 4 + 0 + 4 + 8 // name of one byte, no dimensions
)

// gguf is one parsed file.
type gguf struct {
	file    string
	size    int
	meta    Metadata
	version uint32
	align   int
	data    int // offset of the data section
	tensors []Tensor
}

// parseGGUF reads the header of a file whose content is b. It does not touch the
// tensors' bytes; the tensors' data alias b.
func parseGGUF(file string, b []byte) (*gguf, error) {
	p := &parser{file: file, b: b, budget: 2*min(len(b), math.MaxInt/4) + slack}
	g := &gguf{file: file, size: len(b)}
	if err := g.preamble(p); err != nil {
		return nil, err
	}
	tensors, err := p.u64("number of tensors")
	if err != nil {
		return nil, err
	}
	keys, err := p.count("number of metadata keys", minEntry)
	if err != nil {
		return nil, err
	}
	if err := g.metadata(p, keys); err != nil {
		return nil, err
	}
	if err := g.alignment(p); err != nil {
		return nil, err
	}
	if err := g.tensorInfos(p, tensors); err != nil {
		return nil, err
	}
	return g, g.place(b)
}

// preamble checks magic and version.
func (g *gguf) preamble(p *parser) error {
	m, err := p.take(4, "magic")
	if err != nil {
		return err
	}
	if string(m) != magic {
		return p.errorAt(0, "magic", quote(magic), quote(string(m)), oldFormat(string(m)))
	}
	v, err := p.u32("version")
	if err != nil {
		return err
	}
	switch {
	case v == 2 || v == 3:
	case v == 1:
		return p.errorAt(4, "version", "2 or 3", "1", "convert the model again with a current converter; version 1 was replaced in 2023")
	case v != 0 && v&0xffff == 0: // the number of a byte-swapped file
		return p.errorAt(4, "byte order", "a little-endian file", fmt.Sprintf("a big-endian one (version %d)", bits.ReverseBytes32(v)), "convert the model again with --outtype as before and without --bigendian")
	default:
		return p.errorAt(4, "version", "2 or 3", strconv.FormatUint(uint64(v), 10), "a newer format needs a newer Atenia")
	}
	g.version = v
	return nil
}

// oldFormat returns the remedy for files that predate GGUF.
func oldFormat(m string) string {
	switch m {
	case "lmgg", "fmgg", "tjgg", "algg":
		return "this is a GGML file from before GGUF: convert the model again from its source"
	case "FUGG":
		return "this is a byte-swapped GGUF file: convert the model again for a little-endian machine"
	}
	return "this is not a GGUF file, or its beginning is damaged"
}

func (g *gguf) metadata(p *parser, n int) error {
	if err := p.charge(n, int(unsafe.Sizeof(entry{}))+4, "number of metadata keys"); err != nil {
		return err
	}
	t := &table{file: p.file, entries: make([]entry, 0, n)}
	for i := range n {
		key, err := p.name(fmt.Sprintf("metadata key %d of %d", i+1, n))
		if err != nil {
			return err
		}
		v, err := p.entry()
		if err != nil {
			fe, _ := errors.AsType[*FormatError](err)
			fe.Field = fmt.Sprintf("metadata %q: %s", clip(key), fe.Field)
			return fe
		}
		t.entries = append(t.entries, entry{key, v})
	}
	if i, found := t.index(); found {
		return &FormatError{File: p.file, Field: fmt.Sprintf("metadata %q", clip(t.entries[i].key)), Want: "every key once", Got: fmt.Sprintf("it again as key %d of %d", i+1, n), Fix: fixDamage}
	}
	g.meta = Metadata{t}
	return nil
}

// entry reads the type and value of a key.
func (p *parser) entry() (Value, error) {
	t, err := p.valueType()
	if err != nil {
		return Value{}, err
	}
	v, err := p.value(t, 0)
	if err != nil {
		return Value{}, err
	}
	return p.own(v)
}

// alignment finds the start of the data section. As in ggml, the alignment must
// be a power of two.
func (g *gguf) alignment(p *parser) error {
	g.align = alignDefault
	a, ok, err := g.meta.Uint(alignmentKey)
	if err != nil || !ok {
		return err
	}
	if a == 0 || a&(a-1) != 0 || a > alignMost {
		return &FormatError{File: p.file, Field: fmt.Sprintf("metadata %q", alignmentKey), Want: fmt.Sprintf("a power of two up to %d", alignMost), Got: strconv.FormatUint(a, 10), Fix: fixDamage}
	}
	g.align = int(a)
	return nil
}

func (g *gguf) tensorInfos(p *parser, count uint64) error {
	if most := p.left() / minTensor; count > uint64(most) {
		return p.errorAt(8, "number of tensors", fmt.Sprintf("at most %d, as the file has %d bytes left for them", most, p.left()), strconv.FormatUint(count, 10), fixFetch)
	}
	n := int(count)
	if err := p.charge(n, int(unsafe.Sizeof(Tensor{}))+8, "number of tensors"); err != nil {
		return err
	}
	g.tensors = make([]Tensor, n)
	for i := range g.tensors {
		if err := g.tensorInfo(p, &g.tensors[i], i); err != nil {
			return err
		}
	}
	pad := -p.off & (g.align - 1)
	if n > 0 && pad > p.left() {
		return p.errorAt(p.off, "data section", fmt.Sprintf("%d bytes of padding and the tensors", pad), fmt.Sprintf("%d bytes more", p.left()), fixFetch)
	}
	g.data = p.off + pad
	return nil
}

// tensorInfo reads one entry: name, dimensions innermost first, type, offset in
// the data section. t.Offset is relative to the data section until place makes
// it absolute.
func (g *gguf) tensorInfo(p *parser, t *Tensor, i int) error {
	name, err := p.name(fmt.Sprintf("name of tensor %d of %d", i+1, len(g.tensors)))
	if err != nil {
		return err
	}
	t.Name, t.File = name, g.file
	if err := g.shape(p, t); err != nil {
		return named(name, err)
	}
	at := p.off
	id, err := p.u32("element type")
	if err != nil {
		return named(name, err)
	}
	if t.View.DType, err = p.elementType(at, id); err != nil {
		return named(name, err)
	}
	if _, err := t.View.Shape.Bytes(t.View.DType); err != nil {
		e := p.errorAt(at, "shape", fmt.Sprintf("rows of whole %s blocks and a size that fits", t.View.DType), t.View.Shape.String(), fixDamage)
		e.Err = err
		return named(name, e)
	}
	at = p.off
	off, err := p.u64("offset")
	if err != nil {
		return named(name, err)
	}
	if off%uint64(g.align) != 0 || off > uint64(g.size) {
		return named(name, p.errorAt(at, "offset", fmt.Sprintf("a multiple of %d within the file's %d bytes", g.align, g.size), strconv.FormatUint(off, 10), fixFetch))
	}
	t.Offset = int64(off)
	return nil
}

// shape reads the dimensions and reverses them to outermost first.
func (g *gguf) shape(p *parser, t *Tensor) error {
	at := p.off
	n, err := p.u32("number of dimensions")
	if err != nil {
		return err
	}
	if n > maxDims {
		return p.errorAt(at, "number of dimensions", fmt.Sprintf("at most %d", maxDims), strconv.FormatUint(uint64(n), 10), fixDamage)
	}
	if err := p.charge(int(n), 8, "dimensions"); err != nil {
		return err
	}
	s := make(tensor.Shape, n)
	for i := range s {
		at := p.off
		d, err := p.u64("dimension")
		if err != nil {
			return err
		}
		if d == 0 || d > math.MaxInt {
			return p.errorAt(at, fmt.Sprintf("dimension %d", i), "1 or more, and no more values than the file can hold", strconv.FormatUint(d, 10), fixDamage)
		}
		s[len(s)-1-i] = int(d)
	}
	t.View.Shape = s
	return nil
}

// named adds the tensor's name to an error.
func named(name string, err error) error {
	if fe, ok := errors.AsType[*FormatError](err); ok {
		fe.Tensor = name
	}
	return err
}

// place makes offsets absolute, checks that tensors are within the file and do
// not overlap, and slices the views.
func (g *gguf) place(b []byte) error {
	for i := range g.tensors {
		t := &g.tensors[i]
		t.Offset += int64(g.data) // neither exceeds the size of the file
		n := t.bytes()
		if room := int64(len(b)) - t.Offset; int64(n) > room {
			return cut(t, n, max(0, room))
		}
		t.View.Data = b[t.Offset : t.Offset+int64(n) : t.Offset+int64(n)]
	}
	return overlap(g.tensors)
}
