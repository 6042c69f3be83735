package file

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"atenia/tensor"
)

const (
	// maxHeader is the largest header that the reference implementation accepts.
	maxHeader = 100_000_000
	// maxRank bounds the dimensions of a tensor, as in PyTorch.
	maxRank = 64

	headerPrefix = 8 // length field of the header
	metadataKey  = "__metadata__"
)

// safeTypes lists the supported element types in the order of the reference
// implementation, by ascending alignment; the writer stores the largest
// alignment first.
var safeTypes = [...]tensor.DType{
	tensor.Bool, tensor.U8, tensor.I8, tensor.F8E5M2, tensor.F8E4M3, tensor.I16, tensor.U16,
	tensor.F16, tensor.BF16, tensor.I32, tensor.U32, tensor.F32, tensor.F64, tensor.I64, tensor.U64,
}

// A safeParser reads the header of one file.
type safeParser struct {
	scanner
	budget  int      // as in parser
	data    int      // size of the data section
	tensors []Tensor // Offset is relative to the data until place
	meta    []entry
}

// A span is the position of a tensor, relative to the data section.
type span struct{ begin, end int }

// parseSafetensors reads the header of a file whose content is b, and makes the
// checks of the reference implementation: the header is within the file, the
// data have no holes or overlaps up to the last byte, sizes match shapes, and
// names are unique. The tensors are in the order of their data, which alias b.
func parseSafetensors(file string, b []byte) (ts []Tensor, meta Metadata, data int, err error) {
	fault := func(off int64, field, want, got, fix string) error {
		return &FormatError{File: file, Offset: off, Field: field, Want: want, Got: got, Fix: fix}
	}
	if len(b) < headerPrefix {
		return nil, meta, 0, fault(0, "length of the header", "8 bytes", fmt.Sprintf("a file of %d", len(b)), fixFetch)
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader {
		return nil, meta, 0, fault(0, "length of the header", fmt.Sprintf("at most %d", maxHeader), strconv.FormatUint(n, 10), "this is not a safetensors file, or its beginning is damaged")
	}
	if n > uint64(len(b)-headerPrefix) {
		return nil, meta, 0, fault(0, "length of the header", fmt.Sprintf("at most the %d bytes that follow", len(b)-headerPrefix), strconv.FormatUint(n, 10), fixFetch)
	}
	data = headerPrefix + int(n)
	p := &safeParser{
		scanner: scanner{file: file, b: b[headerPrefix:data:data], base: headerPrefix},
		budget:  2*min(len(b), math.MaxInt/4) + slack, data: len(b) - data,
	}
	if len(p.b) == 0 || p.b[0] != '{' {
		return nil, meta, 0, fault(headerPrefix, "header", "a JSON object", "something else", "this is not a safetensors file, or its beginning is damaged")
	}
	if err := p.object(p.field); err != nil {
		return nil, meta, 0, err
	}
	if err := p.end(); err != nil {
		return nil, meta, 0, err
	}
	if err := p.place(b, data); err != nil {
		return nil, meta, 0, err
	}
	t := &table{file: file, entries: p.meta}
	t.index() // field rejected duplicates
	return p.tensors, Metadata{t}, data, nil
}

// charge takes n bytes from the memory budget.
func (p *safeParser) charge(n int, at int) error {
	if n > p.budget {
		return p.errorAt(at, "header", "a header that takes less memory than twice the file", "more entries")
	}
	p.budget -= n
	return nil
}

// field reads one entry of the header.
func (p *safeParser) field(key string, at int) error {
	if key == metadataKey {
		return p.metadata(at)
	}
	// Twice, because the list grows by doubling.
	if err := p.charge(2*int(unsafe.Sizeof(Tensor{}))+len(key)+24, at); err != nil {
		return err
	}
	t, sp := Tensor{Name: key, File: p.file}, span{-1, -1}
	err := p.object(func(key string, at int) (err error) {
		if key == "dtype" && t.View.DType != tensor.Invalid || key == "shape" && t.View.Shape != nil || key == "data_offsets" && sp.begin >= 0 {
			return p.errorAt(at, key, "it once", "it again")
		}
		switch key {
		case "dtype":
			t.View.DType, err = p.dtype()
		case "shape":
			t.View.Shape, err = p.shape()
		case "data_offsets":
			sp, err = p.offsets()
		default: // the reference ignores unknown keys
			err = p.skip(0)
		}
		return err
	})
	switch {
	case err != nil:
	case t.View.DType == tensor.Invalid:
		err = p.errorAt(at, "entry", `"dtype"`, "none")
	case t.View.Shape == nil:
		err = p.errorAt(at, "entry", `"shape"`, "none")
	case sp.begin < 0:
		err = p.errorAt(at, "entry", `"data_offsets"`, "none")
	default:
		err = p.sized(&t, sp, at)
	}
	if err != nil {
		return named(key, err)
	}
	t.Offset = int64(sp.begin)
	p.tensors = append(p.tensors, t)
	return nil
}

// sized checks that the size of a tensor matches its shape.
func (p *safeParser) sized(t *Tensor, sp span, at int) error {
	n, err := t.View.Shape.Bytes(t.View.DType)
	if err != nil {
		e := p.errorAt(at, "shape", "a size that fits", t.View.Shape.String())
		e.Err = err
		return e
	}
	if sp.end < sp.begin || sp.end-sp.begin != n {
		return p.errorAt(at, "data_offsets", fmt.Sprintf("%d bytes for %s %v", n, t.View.DType, t.View.Shape), fmt.Sprintf("%d to %d", sp.begin, sp.end))
	}
	return nil
}

func (p *safeParser) dtype() (tensor.DType, error) {
	p.peek()
	at := p.off
	name, err := p.str()
	if err != nil {
		return 0, err
	}
	for _, d := range safeTypes {
		if d.String() == name {
			return d, nil
		}
	}
	e := p.errorAt(at, "dtype", fmt.Sprintf("one of %v", safeTypes), quote(name))
	e.Fix = "convert the tensor to a type that Atenia knows"
	return 0, e
}

func (p *safeParser) shape() (tensor.Shape, error) {
	s := tensor.Shape{}
	err := p.array(func() error {
		p.peek()
		at := p.off
		n, err := p.size("shape")
		if err != nil {
			return err
		}
		if len(s) == maxRank {
			return p.errorAt(at, "shape", fmt.Sprintf("at most %d dimensions", maxRank), "more")
		}
		s = append(s, n)
		return p.charge(16, at)
	})
	return slices.Clip(s), err
}

func (p *safeParser) offsets() (span, error) {
	p.peek()
	at, n := p.off, 0
	var v [2]int
	err := p.array(func() (err error) {
		if n == len(v) {
			return p.errorAt(at, "data_offsets", "two numbers", "more")
		}
		v[n], err = p.size("data_offsets")
		n++
		return err
	})
	if err == nil && n != len(v) {
		err = p.errorAt(at, "data_offsets", "two numbers", strconv.Itoa(n))
	}
	return span{v[0], v[1]}, err
}

// metadata reads the strings in the header's metadata object.
func (p *safeParser) metadata(at int) error {
	if p.meta != nil {
		return p.errorAt(at, "header", "every name once", quote(metadataKey)+" again")
	}
	p.meta = []entry{}
	if err := p.object(func(key string, at int) error {
		text, err := p.str()
		if err != nil {
			return err
		}
		if err := p.charge(2*int(unsafe.Sizeof(entry{}))+len(key)+len(text)+36, at); err != nil {
			return err
		}
		p.meta = append(p.meta, entry{key, ValueOf(text)})
		return nil
	}); err != nil {
		return err
	}
	t := table{entries: p.meta}
	if i, dup := t.index(); dup {
		return p.errorAt(at, metadataKey, "every key once", quote(p.meta[i].key)+" again")
	}
	return nil
}

// place sorts the tensors by position, checks that they fill the data section,
// and slices the views.
func (p *safeParser) place(b []byte, data int) error {
	slices.SortFunc(p.tensors, func(x, y Tensor) int {
		return cmp.Or(cmp.Compare(x.Offset, y.Offset), cmp.Compare(x.bytes(), y.bytes()), cmp.Compare(x.Name, y.Name))
	})
	if _, err := byName(p.tensors); err != nil {
		return err
	}
	end := 0
	for i := range p.tensors {
		t := &p.tensors[i]
		begin, n := int(t.Offset), t.bytes()
		switch {
		case begin < end:
			return named(t.Name, p.dataError(data+begin, fmt.Sprintf("data from byte %d, where tensor %q ends", data+end, clip(p.tensors[i-1].Name)), fmt.Sprintf("data from byte %d: the two overlap", data+begin)))
		case begin > end:
			return named(t.Name, p.dataError(data+end, fmt.Sprintf("data from byte %d, the end of what is before", data+end), fmt.Sprintf("data %d bytes later: a hole", begin-end)))
		}
		t.Offset = int64(data) + int64(begin)
		if n > p.data-begin {
			return cut(t, n, int64(p.data-begin))
		}
		end = begin + n
		t.View.Data = b[data+begin : data+end : data+end]
	}
	if end != p.data {
		return p.dataError(data+end, "the end of the file", fmt.Sprintf("%d more bytes that belong to no tensor", p.data-end))
	}
	return nil
}

// dataError returns a fault of the data section.
func (p *safeParser) dataError(off int, want, got string) error {
	return &FormatError{File: p.file, Offset: int64(off), Field: "data", Want: want, Got: got, Fix: fixDamage}
}
