package parked

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"atenia/grad"
	"atenia/internal/memory"
	"atenia/quila/internal/index"
	"atenia/quila/internal/stores"
	"atenia/quila/internal/weights"
)

// A Codebook is what the tree is built from. The builder is one of the four that
// may ask it (INV-1).
type Codebook[F grad.Float] interface {
	Len() int
	Dim() int
	Row(code uint32) []F
	Mean() []F        // of all rows
	Sum256() [32]byte // its id
}

// The errors of this package, for [errors.Is].
var (
	errCode      = errors.New("no such code")
	errShape     = errors.New("wrong length")
	errNotFinite = errors.New("not finite")
	errNoNode    = errors.New("no such node")
)

// A sctValueError says which operation was given what. It matches its Err.
type sctValueError struct {
	Op, Want, Got string
	Err           error
}

func (e *sctValueError) Error() string {
	return fmt.Sprintf("sct %s: want %s, got %s: %v", e.Op, e.Want, e.Got, e.Err)
}

// Unwrap returns what the error is matched by.
func (e *sctValueError) Unwrap() error { return e.Err }

// None is the neighbour of a node at an end.
const None = -1

// A Node is a span of the context. Its id is its place in [Tree.Nodes].
type Node[F grad.Float] struct {
	Level      int
	From, To   int // codes
	Embedding  []F // of unit length
	Prev, Next int // on the same level, None at the ends
	Children   []int
}

// A key is that of a block prefix.
type key [sha256.Size]byte

// Keys returns the keys of the block prefixes of codes; the last block may be
// short.
func Keys(codes []uint32, book [32]byte, block int) []key {
	h := sha256.New()
	h.Write(book[:])
	var keys []key
	for at := 0; at < len(codes); at += block {
		for _, c := range codes[at:min(at+block, len(codes))] {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], c)
			h.Write(b[:])
		}
		keys = append(keys, key(h.Sum(nil)))
	}
	return keys
}

// A Builder builds the trees of a model.
type Builder[F grad.Float] struct {
	book   Codebook[F]
	block  int
	child  int
	memory *stores.Memory
	cache  *Cache[F]
}

// childCodes is the span of a node of level 2.
const childCodes = 8

// NewBuilder makes a builder of trees with blocks of so many codes. memory and
// cache may be nil.
func NewBuilder[F grad.Float](b Codebook[F], block int, m *stores.Memory, c *Cache[F]) (*Builder[F], error) {
	if block < 1 || b.Dim() < 1 || b.Len() < 1 {
		return nil, &sctValueError{"builder", "a codebook and blocks of at least one code", fmt.Sprintf("%d rows of %d, blocks of %d", b.Len(), b.Dim(), block), errShape}
	}
	if m == nil {
		m = stores.NewMemory(stores.TierConfig{})
	}
	return &Builder[F]{book: b, block: block, child: childCodes, memory: m, cache: c}, nil
}

// A Tree is the nodes of a call's context.
type Tree[F grad.Float] struct {
	Nodes  []Node[F]
	Ngrams *Ngrams[F]
	Reused int // level-1 nodes that came from the cache

	b      *Builder[F]
	codes  []uint32
	blocks int
	group  *stores.Group
	rows   []F // of the embeddings, [nodes at most, dim]
	last   int // the newest node of level 2; None if there is none
	index  *index.Graph
	near   []index.Hit // scratch
	query  []float32
}

// A Hit is a node and its dot product with a query.
type Hit struct {
	ID  int
	Dot float32
}

// Build makes the nodes of level 1 and the n-grams (Phase 1). The codes are not
// copied and must not change.
func (b *Builder[F]) Build(codes []uint32) (*Tree[F], error) {
	for i, c := range codes {
		if int64(c) >= int64(b.book.Len()) {
			return nil, &sctValueError{"build", fmt.Sprintf("codes below %d", b.book.Len()), fmt.Sprintf("%d at %d", c, i), errCode}
		}
	}
	blocks := (len(codes) + b.block - 1) / b.block
	t := &Tree[F]{b: b, codes: codes, blocks: blocks, last: None}
	if err := t.open(blocks + (len(codes)+b.child-1)/b.child + blocks); err != nil {
		return nil, err
	}
	var keys []key
	if b.cache != nil {
		keys = Keys(codes, b.book.Sum256(), b.block)
		known := b.cache.longest(keys)
		t.Reused = len(known)
		for i, e := range known {
			if _, err := t.add(1, i*b.block, min((i+1)*b.block, len(codes)), e); err != nil {
				return nil, errors.Join(err, t.Close())
			}
		}
	}
	for i := t.Reused; i < blocks; i++ {
		from, to := i*b.block, min((i+1)*b.block, len(codes))
		e := t.rows[len(t.Nodes)*b.book.Dim():][:b.book.Dim()]
		b.embed(e, codes[from:to])
		if _, err := t.add(1, from, to, e); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	for i := range t.Nodes {
		t.Nodes[i].Prev, t.Nodes[i].Next = i-1, i+1
	}
	if blocks > 0 {
		t.Nodes[blocks-1].Next = None
	}
	if b.cache != nil {
		b.cache.put(keys, t.Nodes)
	}
	t.Ngrams = NewNgrams(codes, b.book)
	return t, nil
}

// open reserves memory for so many nodes.
func (t *Tree[F]) open(nodes int) (err error) {
	d := t.b.book.Dim()
	c := index.DefaultGraph(d)
	c.Stream, c.Pages = weights.Stream{Site: weights.InitSite}, t.b.memory.Vectors()
	if t.index, err = index.NewGraph(c); err != nil {
		return err
	}
	t.query = make([]float32, d)
	if t.group, err = t.b.memory.Group("sct", stores.SCT, []stores.Quota{{Level: stores.L4, Bytes: memory.NoQuota}}, nil); err != nil {
		return err
	}
	var x F
	p, err := t.group.Page("nodes", nodes*d*int(unsafe.Sizeof(x)), stores.L4)
	if err != nil {
		return errors.Join(err, t.group.Close())
	}
	t.rows = stores.Floats[F](p.Bytes())
	return nil
}

// add appends a node with a copy of its embedding, and enters it into the index.
func (t *Tree[F]) add(level, from, to int, e []F) (int, error) {
	d := t.b.book.Dim()
	row := t.rows[len(t.Nodes)*d:][:d:d]
	copy(row, e)
	t.Nodes = append(t.Nodes, Node[F]{Level: level, From: from, To: to, Embedding: row, Prev: None, Next: None})
	for i, x := range row {
		t.query[i] = float32(x)
	}
	id := len(t.Nodes) - 1
	return id, t.index.Add(uint64(id), t.query)
}

// embed writes the centred mean of codes, of unit length.
func (b *Builder[F]) embed(dst []F, codes []uint32) {
	clear(dst)
	mean := b.book.Mean()
	for _, c := range codes {
		for i, x := range b.book.Row(c) {
			dst[i] += x - mean[i]
		}
	}
	for i := range dst {
		dst[i] /= F(len(codes))
	}
	n := max(F(math.Sqrt(float64(dot(dst, dst)))), 1e-12)
	for i := range dst {
		dst[i] /= n
	}
}

// Refine adds children of eight codes to nodes of level 1, those of HIGH blocks,
// in the order of blocks (Phase 3). A node that has children keeps them.
func (t *Tree[F]) Refine(blocks []int) error {
	for _, id := range slices.Sorted(slices.Values(blocks)) {
		if id < 0 || id >= t.blocks {
			return &sctValueError{"refine", fmt.Sprintf("a block below %d", t.blocks), fmt.Sprint(id), errNoNode}
		}
		if len(t.Nodes[id].Children) > 0 {
			continue
		}
		for from, to := t.Nodes[id].From, t.Nodes[id].To; from < to; from += t.b.child {
			end := min(from+t.b.child, to)
			e := t.rows[len(t.Nodes)*t.b.book.Dim():][:t.b.book.Dim()]
			t.b.embed(e, t.codes[from:end])
			child, err := t.add(2, from, end, e)
			if err != nil {
				return err
			}
			t.Nodes[id].Children = append(t.Nodes[id].Children, child)
			if t.last != None {
				t.Nodes[t.last].Next, t.Nodes[child].Prev = child, t.last
			}
			t.last = child
		}
	}
	return nil
}

// Query appends to dst the k nodes of both levels with the largest dot product
// with q, ties to the smaller id. It searches the same index as the libraries of
// neurons do.
func (t *Tree[F]) Query(dst []Hit, q []F, k int) ([]Hit, error) {
	if len(q) != t.b.book.Dim() {
		return dst, &sctValueError{"query", fmt.Sprintf("%d dimensions", t.b.book.Dim()), fmt.Sprint(len(q)), errShape}
	}
	n := F(math.Sqrt(float64(dot(q, q))))
	if n-n != 0 {
		return dst, &sctValueError{"query", "numbers", fmt.Sprint(n), errNotFinite}
	}
	if k = min(k, len(t.Nodes)); k < 1 {
		return dst, nil
	}
	for i, x := range q { // distances of a query of norm 1 have all their digits
		t.query[i] = float32(x / max(n, 1e-30))
	}
	var err error
	if t.near, err = t.index.Search(t.near[:0], t.query, k, 0); err != nil {
		return dst, err
	}
	first := len(dst)
	for _, h := range t.near {
		dst = append(dst, Hit{int(h.Label), float32(dot(q, t.Nodes[h.Label].Embedding))})
	}
	slices.SortFunc(dst[first:], func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Dot, a.Dot), cmp.Compare(a.ID, b.ID)) })
	return dst, nil
}

func dot[F grad.Float](a, b []F) (s F) {
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

// Pages returns the blocks that the spans of hits lie in, in the order of rank,
// each once: the retrieval path.
func (t *Tree[F]) Pages(hits []Hit) (blocks []int) {
	for _, h := range hits {
		if b := t.Nodes[h.ID].From / t.b.block; !slices.Contains(blocks, b) {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// Close frees the tree, which lives for one call. It may be called more than once.
func (t *Tree[F]) Close() error {
	if t.group == nil {
		return nil
	}
	g := t.group
	t.index.Release()
	t.group, t.Nodes, t.rows, t.Ngrams = nil, nil, nil, nil
	return g.Close()
}

// A band says how near a block is to the question.
type band uint8

// The bands.
const (
	lowPriority band = iota
	medium
	highPriority
)

// String returns LOW, MEDIUM or HIGH.
func (b band) String() string { return [...]string{"LOW", "MEDIUM", "HIGH"}[b] }

// BandOf returns the band of a cosine between the thresholds, all as float32
// [R-0.3b].
func BandOf(cos, low, high float32) band {
	switch {
	case cos < low:
		return lowPriority
	case cos < high:
		return medium
	}
	return highPriority
}
