// The image of hnswlib 0.6, as section 6.2 lays it out.

package index

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

const (
	headBytes  = 96
	mostLevel  = 31
	deletedBit = 1
)

// record is how many bytes of an image an entry takes, without upper levels.
func (c GraphConfig) record() int { return 4 + 8*c.M + 4*c.Dim + 8 }

// ImageBytes is how long the image is that [Graph.Write] writes.
func (x *Graph) ImageBytes() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settle()
	return x.imageBytes()
}

func (x *Graph) imageBytes() int64 {
	n := headBytes + int64(len(x.labels))*int64(x.c.record()+4)
	for _, l := range x.levels {
		n += int64(l) * int64(4+4*x.c.M)
	}
	return n
}

// settle sweeps tombstones out and completes the graph, as files have it.
func (x *Graph) settle() {
	x.compact()
	if x.linked() < len(x.labels) {
		x.linkAll()
	}
}

// Write writes the image that hnswlib's loadIndex reads. It builds the graph of a
// small index, and leaves no tombstone behind.
func (x *Graph) Write(w io.Writer) (int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settle()
	le, out := binary.LittleEndian, bufio.NewWriterSize(w, 1<<16)
	n, entry := len(x.labels), uint32(none)
	if n > 0 {
		entry = x.entry
	}
	b := make([]byte, 0, max(x.c.record(), headBytes))
	for _, v := range []uint64{0, max(x.capacity, uint64(n)), uint64(n), uint64(x.c.record()), uint64(x.c.record() - 8), uint64(4 + 8*x.c.M)} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, uint32(int32(x.top)))
	b = le.AppendUint32(b, entry)
	for _, v := range []uint64{uint64(x.c.M), uint64(2 * x.c.M), uint64(x.c.M), math.Float64bits(x.mult), uint64(x.c.EfConstruction)} {
		b = le.AppendUint64(b, v)
	}
	written := int64(0)
	put := func(b []byte) error {
		n, err := out.Write(b)
		written += int64(n)
		return err
	}
	links := func(b []byte, list []uint32) []byte {
		n := degree(list)
		b = le.AppendUint32(b, uint32(n))
		for _, id := range list[:n] {
			b = le.AppendUint32(b, id)
		}
		return append(b, make([]byte, 4*(len(list)-n))...)
	}
	if err := put(b); err != nil {
		return written, err
	}
	for id, label := range x.labels {
		b = links(b[:0], x.list(uint32(id), 0))
		for _, v := range x.row(uint32(id))[:x.c.Dim] {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
		if err := put(le.AppendUint64(b, label)); err != nil {
			return written, err
		}
	}
	for id, level := range x.levels {
		b = le.AppendUint32(b[:0], uint32(int(level)*(4+4*x.c.M)))
		for l := range int(level) {
			b = links(b, x.list(uint32(id), l+1))
		}
		if err := put(b); err != nil {
			return written, err
		}
	}
	return written, out.Flush()
}

// An imageReader reads an image in order.
type imageReader struct {
	r        *bufio.Reader
	at, size int64
	buf      []byte
}

func malformed(op string, at int64, want, got any) error {
	return &graphError{Op: op, Offset: at, Want: want, Got: got, Kind: ErrGraphFormat}
}

// next returns n more bytes, which hold until the next call.
func (r *imageReader) next(op string, n int) ([]byte, error) {
	if int64(n) > r.size-r.at {
		return nil, malformed(op, r.at, fmt.Sprintf("%d bytes", n), r.size-r.at)
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return nil, fmt.Errorf("hnsw: byte %d: %w", r.at, err)
	}
	r.at += int64(n)
	return b, nil
}

// ReadGraph reads an image of hnswlib. The dimensions must be those of c, or are taken
// from the image if it has none; M and ef_construction are the image's. Unlike
// hnswlib it checks every number, and errors about them match [ErrGraphFormat].
// Memory is bounded by the size. Tombstones are swept out.
func ReadGraph(src io.ReaderAt, size int64, c GraphConfig) (*Graph, error) {
	r := &imageReader{r: bufio.NewReaderSize(io.NewSectionReader(src, 0, size), 1<<16), size: size}
	b, err := r.next("header", headBytes)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(b, size, c)
	if err != nil {
		return nil, err
	}
	x, err := NewGraph(h.c)
	if err != nil {
		return nil, malformed("parameters", 72, "usable ones", err)
	}
	if err := x.load(r, h); err != nil {
		x.trim(0)
		return nil, err
	}
	if x.tombs > 0 {
		x.span()
		x.compact()
	}
	return x, nil
}

// A header is the first 96 bytes.
type header struct {
	c               GraphConfig
	count, capacity uint64
	top             int32
	entry           uint32
	mult            float64
}

func readHeader(b []byte, size int64, c GraphConfig) (h header, err error) {
	le := binary.LittleEndian
	var v [12]uint64
	for i := range v {
		v[i] = le.Uint64(b[8*i:])
	}
	h = header{c: c, capacity: v[1], count: v[2], top: int32(le.Uint32(b[48:])), entry: le.Uint32(b[52:]), mult: math.Float64frombits(v[10])}
	check := func(ok bool, op string, field int, want any) {
		if !ok && err == nil {
			err = malformed(op, int64(8*field), want, v[field])
		}
	}
	record, m := v[3], v[9]
	check(v[0] == 0, "offset of level 0", 0, 0)
	check(m >= 2 && m <= mostM, "M", 9, fmt.Sprintf("2 to %d", mostM))
	check(v[7] == m, "maxM", 7, m)
	check(v[8] == 2*m, "maxM0", 8, 2*m)
	check(v[11] >= 1 && v[11] <= mostEf, "ef_construction", 11, fmt.Sprintf("1 to %d", mostEf))
	check(math.Abs(h.mult*math.Log(float64(m))-1) < 1e-12, "mult", 10, "1/ln M")
	check(v[5] == 4+8*m, "offset of data", 5, 4+8*m)
	check(record > v[5]+8 && record-v[5]-8 <= 4*mostDim && (record-v[5]-8)%4 == 0, "bytes of an element", 3, "those of links, vector and label")
	check(v[4] == record-8, "offset of the label", 4, record-8)
	if err != nil {
		return h, err
	}
	dim := int(record-v[5]-8) / 4
	check(c.Dim == 0 || c.Dim == dim, "bytes of an element", 3, 4+8*int(m)+4*c.Dim+8)
	check(h.count <= uint64(size-headBytes)/(record+4), "number of elements", 2, uint64(size-headBytes)/(record+4))
	check(h.count <= mostSlots && h.count <= h.capacity, "number of elements", 2, "at most max_elements")
	check(h.capacity <= math.MaxUint32, "max_elements", 1, "below 2^32")
	switch {
	case h.count == 0:
		check(h.top == -1 && h.entry == none || h.top == 0 && h.entry == 0, "entry of an empty graph", 6, "none")
	default:
		check(h.top >= 0 && h.top <= mostLevel, "highest level", 6, fmt.Sprintf("0 to %d", mostLevel))
		check(uint64(h.entry) < h.count, "entry", 6, fmt.Sprintf("below %d", h.count))
	}
	h.c.Dim, h.c.M, h.c.EfConstruction = dim, int(m), int(v[11])
	return h, err
}

// load fills a new index with the elements of an image.
func (x *Graph) load(r *imageReader, h header) error {
	n := int(h.count)
	x.capacity, x.mult, x.serial = h.capacity, h.mult, h.count
	x.labels, x.dead, x.levels = make([]uint64, 0, n), make([]bool, 0, n), make([]uint8, n)
	x.links, x.upper, x.parent = make([]uint32, 0, n*2*x.c.M), make([]int32, n), make([]uint32, n)
	x.spread = false
	x.work.begin(n)
	for id := range n {
		if err := x.loadElement(r, uint32(id), n); err != nil {
			return err
		}
	}
	for id := range n {
		if err := x.loadLevels(r, uint32(id), n, int(h.top)); err != nil {
			return err
		}
	}
	if r.at != r.size {
		return malformed("end", r.at, r.size, r.at)
	}
	if n == 0 {
		x.spread = true
		return nil
	}
	x.entry, x.top = h.entry, int(h.top)
	if l := int(x.levels[x.entry]); l != x.top {
		return malformed("level of the entry", 48, x.top, l)
	}
	for id, level := range x.levels {
		x.parent[id] = none
		for l := 1; l <= int(level); l++ {
			for _, nb := range x.list(uint32(id), l) {
				if nb == none {
					break
				}
				if int(x.levels[nb]) < l {
					return malformed("level of a neighbour of element "+fmt.Sprint(id), r.size, l, x.levels[nb])
				}
			}
		}
	}
	for id, dead := range x.dead {
		if dead {
			delete(x.slots, x.labels[id])
		}
	}
	if x.tombs == n {
		x.reset()
	}
	return nil
}

// loadElement reads level 0, the vector and the label of an element.
func (x *Graph) loadElement(r *imageReader, id uint32, n int) error {
	at := r.at
	b, err := r.next("element", x.c.record())
	if err != nil {
		return err
	}
	if b[2] > deletedBit || b[3] != 0 {
		return malformed("flags", at+2, "0 or 1", b[2:4])
	}
	if x.links, err = x.loadLinks(x.links, b, at, id, 2*x.c.M, n); err != nil {
		return err
	}
	le := binary.LittleEndian
	if err := x.room(int(id)); err != nil {
		return err
	}
	vector, row := b[4+8*x.c.M:], x.row(id)
	clear(row)
	for i := range x.c.Dim {
		f := math.Float32frombits(le.Uint32(vector[4*i:]))
		if f-f != 0 {
			return malformed("vector", at+int64(4+8*x.c.M+4*i), "a finite value", f)
		}
		row[i] = f
	}
	label := le.Uint64(vector[4*x.c.Dim:])
	if _, taken := x.slots[label]; taken {
		return malformed("label", at+int64(x.c.record()-8), "one for each element", label)
	}
	x.slots[label] = id
	dead := b[2] == deletedBit
	if dead {
		x.tombs++
	}
	x.labels, x.dead = append(x.labels, label), append(x.dead, dead)
	return nil
}

// loadLinks appends a list of at most m links of a graph of n nodes.
func (x *Graph) loadLinks(dst []uint32, b []byte, at int64, id uint32, m, n int) ([]uint32, error) {
	le, w := binary.LittleEndian, &x.work
	k := int(le.Uint16(b))
	if k > m {
		return dst, malformed("number of links", at, fmt.Sprintf("at most %d", m), k)
	}
	w.begin(n)
	w.meet(id)
	for i := range m {
		if i >= k {
			dst = append(dst, none) // the image has what was there before
			continue
		}
		nb := le.Uint32(b[4+4*i:])
		if int64(nb) >= int64(n) {
			return dst, malformed("link", at+int64(4+4*i), fmt.Sprintf("below %d", n), nb)
		}
		if !w.meet(nb) {
			return dst, malformed("link", at+int64(4+4*i), "another node, once", nb)
		}
		dst = append(dst, nb)
	}
	return dst, nil
}

// loadLevels reads the upper levels of an element.
func (x *Graph) loadLevels(r *imageReader, id uint32, n, top int) error {
	at := r.at
	b, err := r.next("length of upper levels", 4)
	if err != nil {
		return err
	}
	length, each := int64(binary.LittleEndian.Uint32(b)), int64(4+4*x.c.M)
	if length%each != 0 || length > each*int64(top) {
		return malformed("length of upper levels", at, fmt.Sprintf("up to %d times %d", top, each), length)
	}
	x.levels[id], x.upper[id] = uint8(length/each), -1
	if length > 0 {
		if len(x.arena) > math.MaxInt32-mostLevel*mostM {
			return malformed("upper levels", at, "at most 2^31 links", len(x.arena))
		}
		x.upper[id] = int32(len(x.arena))
	}
	for range length / each {
		at := r.at
		if b, err = r.next("links", int(each)); err != nil {
			return err
		}
		if b[2] != 0 || b[3] != 0 {
			return malformed("flags", at+2, "0", b[2:4])
		}
		if x.arena, err = x.loadLinks(x.arena, b, at, id, x.c.M, n); err != nil {
			return err
		}
	}
	return nil
}
