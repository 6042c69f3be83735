package sxlm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// The B-link tree of block 4: which row of the codebooks a code is. Keys are
// modality << 32 | index; a leaf has a row's offset, use and the first eight
// bytes of its SHA-256.

const (
	blinkMagic  = "BLNK"
	blinkHead   = 20
	blinkNode   = 16
	leafEntry   = 32
	innerEntry  = 16
	blinkFanout = 64
	maxHeight   = 32
)

// noNode is the right link that ends a level.
const noNode = math.MaxUint32

// A tree is being checked.
type tree struct {
	b      []byte
	fanout int
	at     []int // of the nodes
	seen   []bool
	last   []int64 // by level, the node before, -1 for none
	books  [][]float32
	de     int
	next   uint64 // key that comes next, as a count
}

// checkBlink checks a tree over the rows of codebooks: order, high keys, right
// links, every node reached once, and the rows themselves.
func checkBlink(b []byte, books [][]float32, de int) error {
	if len(b) < blinkHead || string(b[:4]) != blinkMagic {
		return fmt.Errorf("no BLNK tree")
	}
	le := binary.LittleEndian
	fanout, root, n := le.Uint32(b[8:]), le.Uint32(b[12:]), int(le.Uint32(b[16:]))
	switch {
	case le.Uint32(b[4:]) != version:
		return fmt.Errorf("a tree of version %d, want %d", le.Uint32(b[4:]), version)
	case fanout < 2 || fanout > math.MaxUint16 || n == 0 || n > (len(b)-blinkHead)/blinkNode || root >= uint32(n):
		return fmt.Errorf("a tree of %d nodes with root %d and fanout %d in %d bytes", n, root, fanout, len(b))
	}
	t := &tree{b: b, fanout: int(fanout), at: make([]int, n), seen: make([]bool, n), books: books, de: de}
	at := blinkHead
	for i := range n {
		if len(b)-at < blinkNode {
			return fmt.Errorf("node %d is not complete", i)
		}
		level, count := le.Uint16(b[at:]), int(le.Uint16(b[at+2:]))
		size := innerEntry
		if level == 0 {
			size = leafEntry
		}
		if count > t.fanout || len(b)-at-blinkNode < count*size {
			return fmt.Errorf("node %d has %d entries of at most %d in %d bytes", i, count, fanout, len(b)-at)
		}
		t.at[i] = at
		at += blinkNode + count*size
	}
	if at != len(b) {
		return fmt.Errorf("%d bytes after the last node", len(b)-at)
	}
	height := int(le.Uint16(b[t.at[root]:]))
	if height >= maxHeight {
		return fmt.Errorf("a tree of height %d", height)
	}
	for range height + 1 {
		t.last = append(t.last, -1)
	}
	if err := t.walk(int(root), height, 0, math.MaxUint64); err != nil {
		return err
	}
	return t.finish()
}

// walk checks a node of a level whose keys lie from low to below high.
func (t *tree) walk(node, level int, low, high uint64) error {
	le := binary.LittleEndian
	b := t.b[t.at[node]:]
	n, right, bound := int(le.Uint16(b[2:])), le.Uint32(b[4:]), le.Uint64(b[8:])
	switch {
	case t.seen[node]:
		return fmt.Errorf("node %d is reached twice", node)
	case int(le.Uint16(b)) != level:
		return fmt.Errorf("node %d has level %d, want %d", node, le.Uint16(b), level)
	case bound != high:
		return fmt.Errorf("node %d has the high key %#x, want %#x", node, bound, high)
	case (right == noNode) != (high == math.MaxUint64) || right != noNode && right >= uint32(len(t.at)):
		return fmt.Errorf("node %d has the right link %d and the high key %#x", node, right, high)
	case n == 0 && len(t.at) > 1:
		return fmt.Errorf("node %d is empty", node)
	}
	if before := t.last[level]; before >= 0 && le.Uint32(t.b[t.at[before]+4:]) != uint32(node) {
		return fmt.Errorf("the right link of node %d is not %d", before, node)
	}
	t.seen[node], t.last[level] = true, int64(node)
	size := innerEntry
	if level == 0 {
		size = leafEntry
	}
	for i := range n {
		e := b[blinkNode+i*size:]
		key, end := le.Uint64(e), high
		if i+1 < n {
			end = le.Uint64(e[size:])
		}
		if key < low || key >= end {
			return fmt.Errorf("key %#x of node %d is not between %#x and %#x", key, node, low, end)
		}
		if level == 0 {
			if err := t.leaf(key, e); err != nil {
				return err
			}
			continue
		}
		child := le.Uint64(e[8:])
		if child >= uint64(len(t.at)) {
			return fmt.Errorf("node %d has the child %d of %d", node, child, len(t.at))
		}
		if err := t.walk(int(child), level-1, key, end); err != nil {
			return err
		}
	}
	return nil
}

// leaf compares an entry with the next row of the codebooks.
func (t *tree) leaf(key uint64, e []byte) error {
	le := binary.LittleEndian
	modality, i := int(t.next>>32), int(t.next&math.MaxUint32)
	if modality >= len(t.books) || key != t.next {
		return fmt.Errorf("the key %#x, want %#x", key, t.next)
	}
	row := t.books[modality][i*t.de : (i+1)*t.de]
	if at := le.Uint64(e[8:]); at != uint64(4*i*t.de) {
		return fmt.Errorf("key %#x has the offset %d, want %d", key, at, 4*i*t.de)
	}
	if le.Uint64(e[24:]) != rowHash(row) {
		return fmt.Errorf("key %#x has another hash than its row", key)
	}
	if t.next++; int(t.next&math.MaxUint32)*t.de == len(t.books[modality]) {
		t.next = uint64(modality+1) << 32
	}
	return nil
}

// finish checks that every node and every row was there.
func (t *tree) finish() error {
	for i, ok := range t.seen {
		if !ok {
			return fmt.Errorf("node %d cannot be reached", i)
		}
	}
	if t.next != uint64(len(t.books))<<32 {
		return fmt.Errorf("the keys end before %#x", t.next)
	}
	return nil
}

// rowHash is the first eight bytes of the SHA-256 of a row.
func rowHash(row []float32) uint64 {
	sum := sha256.Sum256(floatBytes(row))
	return binary.LittleEndian.Uint64(sum[:])
}

// floatBytes is the form of float32 values in a file.
func floatBytes(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// buildBlink makes the tree of codebooks: full leaves from left to right, then
// one level of parents after the other. usage has a count a row.
func buildBlink(books [][]float32, usage []uint64, de int) []byte {
	le := binary.LittleEndian
	type item struct {
		key   uint64
		entry []byte
	}
	var items []item
	for m, book := range books {
		for i := range len(book) / de {
			key := uint64(m)<<32 | uint64(i)
			e := le.AppendUint64(le.AppendUint64(nil, key), uint64(4*i*de))
			use := uint64(0)
			if len(items) < len(usage) {
				use = usage[len(items)]
			}
			items = append(items, item{key, le.AppendUint64(le.AppendUint64(e, use), rowHash(book[i*de:(i+1)*de]))})
		}
	}
	var body []byte
	for base, level := 0, 0; ; level++ {
		var parents []item
		count := max(1, (len(items)+blinkFanout-1)/blinkFanout)
		for j := range count {
			part := items[j*blinkFanout : min(len(items), (j+1)*blinkFanout)]
			right, high := uint32(noNode), uint64(math.MaxUint64)
			if j+1 < count {
				right, high = uint32(base+j+1), items[(j+1)*blinkFanout].key
			}
			body = le.AppendUint16(le.AppendUint16(body, uint16(level)), uint16(len(part)))
			body = le.AppendUint64(le.AppendUint32(body, right), high)
			for _, x := range part {
				body = append(body, x.entry...)
			}
			parents = append(parents, item{part[0].key, le.AppendUint64(le.AppendUint64(nil, part[0].key), uint64(base+j))})
		}
		if count == 1 {
			head := le.AppendUint32(le.AppendUint32([]byte(blinkMagic), version), blinkFanout)
			return append(le.AppendUint32(le.AppendUint32(head, uint32(base)), uint32(base+count)), body...)
		}
		items, base = parents, base+count
	}
}
