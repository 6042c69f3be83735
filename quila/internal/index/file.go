// The file form, blink.index of section 6.5.

package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
)

// An TreeEntry is what the codebook's index keeps of a row.
type TreeEntry struct {
	Offset uint64 // of the row in its tensor, in bytes
	Usage  uint64 // how often the code was used
	Hash   uint64 // the first 8 bytes of the row's SHA-256, little endian
}

// ErrTreeFormat is what a [treeFormatError] matches.
var ErrTreeFormat = errors.New("blink: malformed index")

// A treeFormatError says what is wrong with the bytes of an index, and where.
type treeFormatError struct {
	Offset    int64
	Op        string // what was read
	Want, Got uint64
}

func (e *treeFormatError) Error() string {
	return fmt.Sprintf("blink: %s at byte %d is %d, want %d", e.Op, e.Offset, e.Got, e.Want)
}

// Is ties the error to [ErrTreeFormat].
func (e *treeFormatError) Is(target error) bool { return target == ErrTreeFormat }

const (
	magic       = "BLNK"
	version     = 1
	headerBytes = 20
	nodeBytes   = 16
	leafBytes   = 32
	innerBytes  = 16
	noRight     = math.MaxUint32
	mostFanout  = math.MaxUint16
)

// A layout is how many nodes each level of a packed tree has, from the leaves.
type layout struct {
	keys, fanout int
	nodes        []int
}

func layoutOf(keys, fanout int) layout {
	l := layout{keys: keys, fanout: fanout}
	for n := keys; ; {
		n = max((n+fanout-1)/fanout, 1)
		l.nodes = append(l.nodes, n)
		if n == 1 {
			return l
		}
	}
}

// total is how many nodes there are.
func (l layout) total() (n int) {
	for _, k := range l.nodes {
		n += k
	}
	return n
}

// size is how many bytes they take.
func (l layout) size() int {
	return headerBytes + nodeBytes*l.total() + leafBytes*l.keys + innerBytes*(l.total()-1)
}

// items is how many entries a level has.
func (l layout) items(level int) int {
	if level == 0 {
		return l.keys
	}
	return l.nodes[level-1]
}

// Append adds the bytes of blink.index to dst: full leaves from left to right,
// then one level of parents at a time, the root last. Nobody may write
// to the tree meanwhile.
func Append(dst []byte, t *Tree[TreeEntry]) []byte {
	le := binary.LittleEndian
	l := layoutOf(t.Len(), t.fanout)
	dst = append(slices.Grow(dst, l.size()), magic...)
	for _, v := range []int{version, t.fanout, l.total() - 1, l.total()} {
		dst = le.AppendUint32(dst, uint32(v))
	}
	keys := make([]uint64, 0, l.nodes[0]+1) // first keys of the level below
	each, stop := iter.Pull2(t.All())
	defer stop()
	key, entry, _ := each()
	first, below := 0, 0 // node numbers where the level and the one below it begin
	for level, nodes := range l.nodes {
		items, firsts := l.items(level), keys[:0]
		for i := range nodes {
			n := min(t.fanout, items-i*t.fanout)
			right, head := uint32(noRight), len(dst)
			if i < nodes-1 {
				right = uint32(first + i + 1)
			}
			dst = le.AppendUint16(dst, uint16(level))
			dst = le.AppendUint16(dst, uint16(n))
			dst = le.AppendUint32(dst, right)
			dst = le.AppendUint64(dst, math.MaxUint64) // until the next node's first key is known
			low := key
			if level > 0 {
				low = keys[i*t.fanout]
			}
			for j := range n {
				if level == 0 {
					for _, v := range [...]uint64{key, entry.Offset, entry.Usage, entry.Hash} {
						dst = le.AppendUint64(dst, v)
					}
					key, entry, _ = each()
					continue
				}
				at := i*t.fanout + j
				dst = le.AppendUint64(dst, keys[at])
				dst = le.AppendUint64(dst, uint64(below+at))
			}
			if i < nodes-1 {
				high := key
				if level > 0 {
					high = keys[(i+1)*t.fanout]
				}
				le.PutUint64(dst[head+8:], high)
			}
			firsts = append(firsts, low) // over keys that are no longer needed
		}
		keys, first, below = firsts, first+nodes, first
	}
	return dst
}

// chunk is how many bytes are read at a time.
const chunk = 1 << 16

// A reader reads the file in order and checks what must be there.
type reader struct {
	r    io.ReaderAt
	size int64
	at   int64 // of the byte behind what is in buf
	buf  []byte
	room [chunk]byte
}

func (r *reader) offset() int64 { return r.at - int64(len(r.buf)) }

// next returns n more bytes.
func (r *reader) next(n int) ([]byte, error) {
	if len(r.buf) < n {
		k := copy(r.room[:], r.buf)
		m := int(min(int64(chunk-k), r.size-r.at))
		if k+m < n {
			return nil, &treeFormatError{r.size, "end of the bytes", uint64(r.offset() + int64(n)), uint64(r.size)}
		}
		if got, err := r.r.ReadAt(r.room[k:k+m], r.at); got < m {
			return nil, fmt.Errorf("blink: byte %d: %w", r.at+int64(got), err)
		}
		r.at += int64(m)
		r.buf = r.room[:k+m]
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b, nil
}

// want reads a number of n bytes that has to be v.
func (r *reader) want(op string, n int, v uint64) error {
	at := r.offset()
	got, err := r.number(n)
	if err == nil && got != v {
		err = &treeFormatError{at, op, v, got}
	}
	return err
}

// number reads a number of 2, 4 or 8 bytes.
func (r *reader) number(n int) (uint64, error) {
	b, err := r.next(n)
	if err != nil {
		return 0, err
	}
	switch n {
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), nil
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), nil
	default:
		return binary.LittleEndian.Uint64(b), nil
	}
}

// ReadTree reads what [Append] writes. It accepts nothing else: ascending keys, full
// nodes in the order of the levels, high keys and right links as they follow,
// each node the child of one parent at the place where the packed tree has it,
// and no byte more. Errors about the bytes match [ErrTreeFormat]. Memory is bounded
// by the size.
func ReadTree(src io.ReaderAt, size int64) (*Tree[TreeEntry], error) {
	r := &reader{r: src, size: size}
	if err := r.want("magic", 4, uint64(binary.LittleEndian.Uint32([]byte(magic)))); err != nil {
		return nil, err
	}
	if err := r.want("version", 4, version); err != nil {
		return nil, err
	}
	var head [3]uint64
	for i := range head {
		var err error
		if head[i], err = r.number(4); err != nil {
			return nil, err
		}
	}
	fanout, root, nodes := head[0], head[1], head[2]
	if fanout < 2 || fanout > mostFanout {
		return nil, &treeFormatError{8, "fanout", maxFanout, fanout}
	}
	// The bytes determine the number of keys: all nodes but the root are an
	// entry of a parent.
	body := size - headerBytes - nodeBytes*int64(nodes) - innerBytes*(int64(nodes)-1)
	if nodes == 0 || body < 0 || body%leafBytes != 0 || body/leafBytes > size {
		return nil, &treeFormatError{16, "number of nodes in these bytes", uint64(max(size-headerBytes, 0) / nodeBytes), nodes}
	}
	l := layoutOf(int(body/leafBytes), int(fanout))
	if l.total() != int(nodes) {
		return nil, &treeFormatError{16, "number of nodes for these keys", uint64(l.total()), nodes}
	}
	if root != nodes-1 {
		return nil, &treeFormatError{12, "root", nodes - 1, root}
	}
	return r.tree(l)
}

// tree reads the nodes.
func (r *reader) tree(l layout) (*Tree[TreeEntry], error) {
	b := builder{t: NewTree[TreeEntry]()}
	b.t.fanout = l.fanout
	var lows, firsts []uint64 // first keys of the nodes below and of this level
	first, below := 0, 0
	for level, nodes := range l.nodes {
		items := l.items(level)
		var high uint64
		for i := range nodes {
			n := min(l.fanout, items-i*l.fanout)
			right := uint64(noRight)
			if i < nodes-1 {
				right = uint64(first + i + 1)
			}
			if err := errors.Join(r.want("level", 2, uint64(level)), r.want("number of entries", 2, uint64(n)), r.want("right link", 4, right)); err != nil {
				return nil, err
			}
			was, highAt := high, r.offset()
			var err error
			if high, err = r.number(8); err != nil {
				return nil, err
			}
			if i == nodes-1 && high != math.MaxUint64 {
				return nil, &treeFormatError{highAt, "high key", math.MaxUint64, high}
			}
			if level == 0 {
				firsts, err = r.leaf(&b, firsts, n, i > 0, was)
			} else {
				firsts, err = r.inner(firsts, lows[i*l.fanout:][:n], below+i*l.fanout, i > 0, was)
			}
			if err != nil {
				return nil, err
			}
			if last := b.last; level == 0 && n > 0 && i < nodes-1 && last >= high {
				return nil, &treeFormatError{highAt, "high key, above the last key", last + 1, high}
			}
		}
		lows, firsts, first, below = firsts, lows[:0], first+nodes, first
	}
	b.finish()
	return b.t, nil
}

// leaf reads n entries; the first key is the high key of the leaf before.
func (r *reader) leaf(b *builder, firsts []uint64, n int, follows bool, low uint64) ([]uint64, error) {
	for j := range n {
		at := r.offset()
		e, err := r.next(leafBytes)
		if err != nil {
			return nil, err
		}
		le := binary.LittleEndian
		key := le.Uint64(e)
		if j == 0 {
			if follows && key != low {
				return nil, &treeFormatError{at, "first key, the high key before", low, key}
			}
			firsts = append(firsts, key)
		}
		if b.any && key <= b.last {
			return nil, &treeFormatError{at, "key, above the one before", b.last + 1, key}
		}
		b.add(key, TreeEntry{le.Uint64(e[8:]), le.Uint64(e[16:]), le.Uint64(e[24:])})
	}
	return firsts, nil
}

// inner reads one entry for each child, whose first keys are lows.
func (r *reader) inner(firsts, lows []uint64, child int, follows bool, low uint64) ([]uint64, error) {
	if follows && lows[0] != low {
		return nil, &treeFormatError{r.offset(), "first key, the high key before", low, lows[0]}
	}
	for j, key := range lows {
		if err := errors.Join(r.want("key, the child's first", 8, key), r.want("child", 8, uint64(child+j))); err != nil {
			return nil, err
		}
	}
	return append(firsts, lows[0]), nil
}

// A builder packs ascending keys into a new tree.
type builder struct {
	t    *Tree[TreeEntry]
	any  bool
	last uint64
	open [maxLevels]*page[TreeEntry] // the rightmost page of each level, not yet stored
	node [maxLevels]*node[TreeEntry]
	top  int
}

// add appends a key above all others.
func (b *builder) add(key uint64, e TreeEntry) {
	if !b.any {
		b.any, b.node[0], b.open[0] = true, b.t.first, &page[TreeEntry]{}
	}
	b.last = key
	b.t.count.Add(1)
	p := b.room(0, key)
	p.values = append(p.values, e)
}

// room returns the rightmost page of a level, with one more key, and makes one,
// known to its parent, if that is full.
func (b *builder) room(level int, key uint64) *page[TreeEntry] {
	p := b.open[level]
	if p.n == maxFanout {
		fresh := &node[TreeEntry]{level: level}
		if b.top == level {
			b.top++
			b.node[b.top], b.open[b.top] = &node[TreeEntry]{level: b.top}, &page[TreeEntry]{}
			up := b.room(b.top, 0)
			up.children = append(up.children, b.node[level])
		}
		up := b.room(level+1, key)
		up.children = append(up.children, fresh)
		p.right, p.high = fresh, key
		b.node[level].page.Store(p)
		p = &page[TreeEntry]{}
		b.node[level], b.open[level] = fresh, p
	}
	p.keys[p.n] = key
	p.n++
	return p
}

// finish stores the pages at the right edge.
func (b *builder) finish() {
	if !b.any {
		return
	}
	for level := range b.top + 1 {
		b.node[level].page.Store(b.open[level])
	}
	b.t.root.Store(b.node[b.top])
}
