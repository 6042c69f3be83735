package sxlm

import (
	"encoding/binary"
	"fmt"
	"math"

	"atenia/tensor"
)

// The image of a library's index, as hnswlib 0.6.2 writes it: a head, the
// elements with their links of level 0, then the upper links of each.

const imageHead = 96

// An imageHeader is the head of an image.
type imageHeader struct {
	most, count, size uint64 // elements that fit, that are there, bytes of one
	levels            int32
	enter             uint32
	m, efc            uint64
}

// element is the size of an element of d dimensions whose level 0 has 2m links.
func element(d, m int) int { return 4 + 4*2*m + 4*d + 8 }

// parse reads and checks the head of an image of vectors of d dimensions with m
// links a level.
func (h *imageHeader) parse(b []byte, d, m int) error {
	if len(b) < imageHead {
		return fmt.Errorf("an index of %d bytes", len(b))
	}
	le := binary.LittleEndian
	*h = imageHeader{le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:]), int32(le.Uint32(b[48:])), le.Uint32(b[52:]), le.Uint64(b[72:]), le.Uint64(b[88:])}
	size := uint64(element(d, m))
	mult := math.Float64frombits(le.Uint64(b[80:]))
	switch {
	case le.Uint64(b) != 0 || h.size != size || le.Uint64(b[32:]) != size-8 || le.Uint64(b[40:]) != uint64(4+4*2*m):
		return fmt.Errorf("elements of %d bytes, want %d of %d dimensions and %d links", h.size, size, d, 2*m)
	case h.m != uint64(m) || le.Uint64(b[56:]) != uint64(m) || le.Uint64(b[64:]) != uint64(2*m):
		return fmt.Errorf("an index with M = %d, want %d", h.m, m)
	case !(math.Abs(mult*math.Log(float64(m))-1) < 1e-9):
		return fmt.Errorf("the factor of levels is %v, want 1/ln %d", mult, m)
	case h.count > h.most || h.count > uint64(len(b)-imageHead)/size:
		return fmt.Errorf("%d elements of %d in %d bytes", h.count, h.most, len(b))
	case h.count == 0 && (h.levels != -1 || h.enter != math.MaxUint32):
		return fmt.Errorf("an empty index with an entry point")
	case h.count > 0 && (h.levels < 0 || h.levels > maxLevels || uint64(h.enter) >= h.count):
		return fmt.Errorf("entry point %d and level %d of %d elements", h.enter, h.levels, h.count)
	case h.efc == 0 || h.efc > 1<<20:
		return fmt.Errorf("ef_construction is %d", h.efc)
	}
	return nil
}

const maxLevels = 64

// checkImage checks the index of a library: every count in bounds, every link to
// an element of that level, the entry point on the top level, the vectors and
// labels those of the entries.
func checkImage(b []byte, entries []Entry, d, m int) error {
	var h imageHeader
	if err := h.parse(b, d, m); err != nil {
		return err
	}
	if h.count != uint64(len(entries)) {
		return fmt.Errorf("an index of %d elements for %d entries", h.count, len(entries))
	}
	n, size := int(h.count), int(h.size)
	le := binary.LittleEndian
	upper, level, err := upperLinks(b[imageHead+n*size:], n, m, int(h.levels))
	if err != nil {
		return err
	}
	if n > 0 && level[h.enter] != int(h.levels) {
		return fmt.Errorf("the entry point %d has level %d, the index %d", h.enter, level[h.enter], h.levels)
	}
	at := make(map[uint64]int, n)
	for i := range entries {
		at[entries[i].ID] = i
	}
	for i := range n {
		e := b[imageHead+i*size:][:size]
		if e[2] != 0 || e[3] != 0 {
			return fmt.Errorf("element %d has the flags %#x %#x", i, e[2], e[3])
		}
		if err := checkLinks(e[4:], int(le.Uint16(e)), 2*m, i, 0, level); err != nil {
			return err
		}
		label := le.Uint64(e[size-8:])
		k, ok := at[label]
		if !ok {
			return fmt.Errorf("element %d has the label %d, which no entry has or two elements have", i, label)
		}
		delete(at, label)
		for j, x := range entries[k].Embedding {
			if le.Uint32(e[4+8*m+4*j:]) != math.Float32bits(tensor.F16ToF32(x)) {
				return fmt.Errorf("the vector of element %d is not the embedding of entry %d", i, label)
			}
		}
		for l, links := range upper[i] {
			if err := checkLinks(links[4:], int(le.Uint32(links)), m, i, l+1, level); err != nil {
				return err
			}
		}
	}
	return nil
}

// upperLinks splits the end of an image into the lists of the levels above 0,
// and returns the level of every element.
func upperLinks(b []byte, n, m, most int) (lists [][][]byte, level []int, err error) {
	lists, level = make([][][]byte, n), make([]int, n)
	list := 4 + 4*m
	for i := range n {
		if len(b) < 4 {
			return nil, nil, fmt.Errorf("the levels of element %d are missing", i)
		}
		size := int64(binary.LittleEndian.Uint32(b))
		b = b[4:]
		if size%int64(list) != 0 || size > int64(len(b)) || size/int64(list) > int64(most) {
			return nil, nil, fmt.Errorf("element %d has %d bytes of upper links for at most %d levels of %d", i, size, most, list)
		}
		for ; size > 0; size -= int64(list) {
			lists[i] = append(lists[i], b[:list])
			b = b[list:]
		}
		level[i] = len(lists[i])
	}
	if len(b) > 0 {
		return nil, nil, fmt.Errorf("%d bytes after the index", len(b))
	}
	return lists, level, nil
}

// checkLinks checks the links of element i on a level.
func checkLinks(b []byte, count, most, i, on int, level []int) error {
	if count > most {
		return fmt.Errorf("element %d has %d links on level %d, at most %d", i, count, on, most)
	}
	for k := range count {
		to := binary.LittleEndian.Uint32(b[4*k:])
		if uint64(to) >= uint64(len(level)) || int(to) == i || level[to] < on {
			return fmt.Errorf("element %d links to %d of %d on level %d", i, to, len(level), on)
		}
		for j := range k {
			if binary.LittleEndian.Uint32(b[4*j:]) == to {
				return fmt.Errorf("element %d links to %d twice on level %d", i, to, on)
			}
		}
	}
	return nil
}

// flatImage is the index of a library of at most 2m+1 entries: a complete graph
// on level 0.
func flatImage(entries []Entry, d, m, efc int) []byte {
	n, le := len(entries), binary.LittleEndian
	size := element(d, m)
	var b []byte
	for _, v := range []int{0, n, n, size, size - 8, 4 + 8*m} {
		b = le.AppendUint64(b, uint64(v))
	}
	levels, enter := uint32(0), uint32(0)
	if n == 0 {
		levels, enter = math.MaxUint32, math.MaxUint32
	}
	b = le.AppendUint32(le.AppendUint32(b, levels), enter)
	for _, v := range []int{m, 2 * m, m} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = le.AppendUint64(b, math.Float64bits(1/math.Log(float64(m))))
	b = le.AppendUint64(b, uint64(efc))
	for i := range entries {
		b = append(le.AppendUint16(b, uint16(n-1)), 0, 0)
		links := 0
		for j := range n {
			if j != i {
				b = le.AppendUint32(b, uint32(j))
				links++
			}
		}
		b = append(b, make([]byte, 4*(2*m-links))...)
		for _, x := range entries[i].Embedding {
			b = le.AppendUint32(b, math.Float32bits(tensor.F16ToF32(x)))
		}
		b = le.AppendUint64(b, entries[i].ID)
	}
	return append(b, make([]byte, 4*n)...)
}
