package grad

import (
	"math/bits"
	"slices"
	"unsafe"
)

// slabBytes is the size of a slab. Buffers up to a quarter of it are cut from
// slabs; a larger one is a separate block.
const slabBytes = 1 << 20

// blockStep is the granularity of large blocks, so that chunks of slightly
// different lengths can reuse each other's blocks.
const blockStep = 1 << 12

// An arena is an allocator whose buffers are freed all at once, by reset, or
// individually, by free. A buffer never spans slabs and a slab never moves, so
// views stay valid until reset. Once a chunk of each size has been seen it
// allocates nothing.
type arena[F Float] struct {
	slabs    [][]F
	slab     []F // the one being cut
	cur, off int // its index, and how much of it is used
	blocks   []block[F]
	freed    [64][][]F // freed small runs, by the logarithm of their size
	live     int       // elements in use
	peak     int       // maximum of live since reset
}

// A block is a separately allocated large run.
type block[F Float] struct {
	run  []F
	used bool
}

func (a *arena[F]) elem() int { var z F; return int(unsafe.Sizeof(z)) }

// reset frees all buffers and keeps the memory.
func (a *arena[F]) reset() {
	a.slab, a.cur, a.off, a.live, a.peak = nil, 0, 0, 0, 0
	for i := range a.blocks {
		a.blocks[i].used = false
	}
	for i := range a.freed {
		a.freed[i] = a.freed[i][:0]
	}
}

// take returns an uninitialized buffer of n elements. Its capacity is n: an
// append cannot reach a neighbour.
func (a *arena[F]) take(n int) []F {
	a.live += n
	if end := a.off + n; end <= len(a.slab) && n <= len(a.slab)/4 {
		run := a.slab[a.off:end:end]
		a.off = end
		return run
	}
	return a.more(n)
}

// more takes n elements from another slab or a block.
func (a *arena[F]) more(n int) []F {
	size := slabBytes / a.elem()
	if n > size/4 {
		return a.block(n)[:n:n]
	}
	if a.slab != nil {
		a.cur++
	}
	if a.cur >= len(a.slabs) {
		a.slabs = append(a.slabs, make([]F, size))
	}
	a.slab, a.off = a.slabs[a.cur], n
	return a.slab[:n:n]
}

// block returns the smallest free large block that holds n.
func (a *arena[F]) block(n int) []F {
	best := -1
	for i := range a.blocks {
		b := &a.blocks[i]
		if !b.used && len(b.run) >= n && (best < 0 || len(b.run) < len(a.blocks[best].run)) {
			best = i
		}
	}
	// A block that is far too large is left for larger requests.
	if best < 0 || len(a.blocks[best].run) > 2*n+blockStep {
		a.trim()
		best = a.outgrown(n)
		a.blocks[best].run = make([]F, (n+blockStep-1)/blockStep*blockStep)
	}
	a.blocks[best].used = true
	return a.blocks[best].run
}

// trim releases the slabs that were not used since reset. Runs that get longer move
// from slabs to blocks, and slabs that only the shorter ones needed would stay for ever.
func (a *arena[F]) trim() {
	used := a.cur
	if a.slab != nil {
		used++
	}
	if used < len(a.slabs) {
		clear(a.slabs[used:])
		a.slabs = a.slabs[:used]
	}
}

// outgrown returns the place for a new block of n elements: that of the largest
// free block which is a little too small, so that chunks that get longer do not add
// up, or else another one.
func (a *arena[F]) outgrown(n int) int {
	best := -1
	for i := range a.blocks {
		b := &a.blocks[i]
		if !b.used && len(b.run) < n && 2*len(b.run) >= n && (best < 0 || len(b.run) > len(a.blocks[best].run)) {
			best = i
		}
	}
	if best < 0 {
		a.blocks = append(a.blocks, block[F]{})
		best = len(a.blocks) - 1
	}
	return best
}

// class returns the logarithm, rounded up, of a run that holds n.
func class(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// lease is take for a buffer that free will return before reset: small ones are
// rounded up to a power of two, so that freed runs can be reused.
func (a *arena[F]) lease(n int) (run []F) {
	c := class(n)
	if f := a.freed[c]; len(f) > 0 {
		run = f[len(f)-1][:n]
		a.freed[c] = f[:len(f)-1]
		a.live += n
	} else if n <= slabBytes/a.elem()/4 {
		run = a.take(1 << c)[:n]
		a.live -= 1<<c - n
	} else {
		run = a.take(n)
	}
	a.peak = max(a.peak, a.live)
	return run
}

// free returns a leased buffer.
func (a *arena[F]) free(v []F) {
	a.live -= len(v)
	if len(v) <= slabBytes/a.elem()/4 {
		c := class(len(v))
		a.freed[c] = append(a.freed[c], v[:1<<c])
		return
	}
	i := slices.IndexFunc(a.blocks, func(b block[F]) bool { return &b.run[0] == &v[0] })
	a.blocks[i].used = false
}

// reserved returns the number of bytes that the arena holds from the system.
func (a *arena[F]) reserved() int {
	n := len(a.slabs) * slabBytes
	for _, b := range a.blocks {
		n += len(b.run) * a.elem()
	}
	return n
}
