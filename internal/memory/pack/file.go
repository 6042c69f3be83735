package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// A packed file holds matrices in their packed form, followed by an index. The
// trailer is written last and locates the index, so a truncated file has no
// trailer.
//
//	0         magic, version (u32 as all numbers), zeros to dataStart
//	          packed matrices, each at a multiple of 64
//	index     source [32], layout [32], sample [32], number of entries
//	          entry: name, type, rows, cols, offset, bytes, SHA-256 of the rows in
//	          the file's layout and of the packed form. Strings are preceded by
//	          their length (u16), sizes are u64
//	trailer   index offset u64, index bytes u64, SHA-256 of the index, magic
const (
	fileMagic    = "ATENIAPK"
	fileVersion  = 1
	dataStart    = 4096
	trailerBytes = 8 + 8 + sha256.Size + len(fileMagic)
	// leastEntry is the size of an entry without strings: it bounds the number of
	// entries.
	leastEntry = 2 + 2 + 4*8 + 2*sha256.Size
)

type sum = [sha256.Size]byte

// An identity says for which model files and kernels a packed file is valid.
type identity struct {
	source sum // sizes and times of the model's files
	layout sum // packed sample of each type by this version of the kernels
	sample sum // the ends of every matrix
}

// An entry is one matrix of a packed file.
type entry struct {
	name, dtype    string
	rows, cols     uint64
	offset, bytes  uint64
	source, packed sum
}

// A fileError says why a packed file cannot be used.
type fileError struct {
	Path, Field, Want, Got string
	Err                    error
}

func (e *fileError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("packed weights %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("packed weights %s: %s: want %s, got %s", e.Path, e.Field, e.Want, e.Got)
}

// Unwrap returns the cause.
func (e *fileError) Unwrap() error { return e.Err }

// appendIndex appends the index and the trailer of a file whose index starts at
// offset.
func appendIndex(b []byte, offset uint64, id *identity, es []entry) []byte {
	start := len(b)
	le := binary.LittleEndian
	text := func(s string) { b = append(le.AppendUint16(b, uint16(len(s))), s...) }
	for _, s := range []sum{id.source, id.layout, id.sample} {
		b = append(b, s[:]...)
	}
	b = le.AppendUint32(b, uint32(len(es)))
	for i := range es {
		e := &es[i]
		text(e.name)
		text(e.dtype)
		for _, n := range []uint64{e.rows, e.cols, e.offset, e.bytes} {
			b = le.AppendUint64(b, n)
		}
		b = append(append(b, e.source[:]...), e.packed[:]...)
	}
	size, hash := len(b)-start, sha256.Sum256(b[start:])
	b = le.AppendUint64(le.AppendUint64(b, offset), uint64(size))
	return append(append(b, hash[:]...), fileMagic...)
}

// parse reads the index of a packed file and checks every number in it against
// the size of the file. Its errors have no path.
func parse(b []byte) (*identity, []entry, error) {
	if len(b) < dataStart+trailerBytes || string(b[:len(fileMagic)]) != fileMagic {
		return nil, nil, &fileError{Field: "magic", Want: fmt.Sprintf("%q and %d bytes or more", fileMagic, dataStart+trailerBytes), Got: "a file of another kind"}
	}
	le := binary.LittleEndian
	if v := le.Uint32(b[len(fileMagic):]); v != fileVersion {
		return nil, nil, &fileError{Field: "version", Want: fmt.Sprint(fileVersion), Got: fmt.Sprint(v)}
	}
	trailer := b[len(b)-trailerBytes:]
	if !bytes.HasSuffix(trailer, []byte(fileMagic)) {
		return nil, nil, &fileError{Field: "end", Want: "the trailer", Got: "a file that was cut"}
	}
	offset, size := le.Uint64(trailer), le.Uint64(trailer[8:])
	if end := uint64(len(b) - trailerBytes); offset < dataStart || offset > end || size != end-offset {
		return nil, nil, &fileError{Field: "index", Want: fmt.Sprintf("%d bytes that end at %d", size, end), Got: fmt.Sprintf("them at %d", offset)}
	}
	index := b[offset:][:size]
	if hash := sha256.Sum256(index); !bytes.Equal(hash[:], trailer[16:][:len(hash)]) {
		return nil, nil, &fileError{Field: "index", Want: "its checksum", Got: "another one: the file is damaged"}
	}
	r := reader{b: index}
	id := &identity{r.sum(), r.sum(), r.sum()}
	n := uint64(r.uint(4))
	if n > uint64(len(r.b)/leastEntry) {
		return nil, nil, &fileError{Field: "entries", Want: fmt.Sprintf("at most %d", len(r.b)/leastEntry), Got: fmt.Sprint(n)}
	}
	es := make([]entry, n)
	for i := range es {
		es[i] = entry{name: r.text(), dtype: r.text(), rows: r.uint(8), cols: r.uint(8), offset: r.uint(8), bytes: r.uint(8), source: r.sum(), packed: r.sum()}
		if e := &es[i]; e.offset%64 != 0 || e.offset < dataStart || e.offset > offset || e.bytes > offset-e.offset {
			return nil, nil, &fileError{Field: e.name, Want: fmt.Sprintf("bytes between %d and %d", dataStart, offset), Got: fmt.Sprintf("%d from %d", e.bytes, e.offset)}
		}
	}
	if r.short || len(r.b) > 0 {
		return nil, nil, &fileError{Field: "index", Want: fmt.Sprintf("%d entries", n), Got: "more or fewer bytes"}
	}
	return id, es, nil
}

// A reader reads numbers and strings. Past the end it sets short and returns
// zeros.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.short = nil, true
		return make([]byte, min(n, math.MaxUint16))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint(size int) uint64 {
	var wide [8]byte
	copy(wide[:], r.take(size))
	return binary.LittleEndian.Uint64(wide[:])
}

func (r *reader) text() string { return string(r.take(int(r.uint(2)))) }

func (r *reader) sum() sum { return sum(r.take(sha256.Size)) }
