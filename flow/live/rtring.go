package live

import (
	"fmt"
	"sync/atomic"
)

// A Ring passes blocks of numbers from one thread to another without locks
// (single producer, single consumer). Neither side ever waits. Each side has
// its counter on separate cache lines, with a copy of the other's that is
// refreshed only when the ring looks full, or empty. [NewRing] makes one.
type Ring[F float32 | float64] struct {
	block, blocks int64
	data          []F // [blocks, block]
	_             [128]byte
	put           atomic.Int64 // blocks ever put
	gotSeen       int64
	_             [112]byte
	got           atomic.Int64 // blocks ever got
	putSeen       int64
	_             [112]byte
}

// NewRing returns an empty ring of blocks blocks with block numbers each.
func NewRing[F float32 | float64](block, blocks int) (*Ring[F], error) {
	if block < 1 || blocks < 1 || block > maxRingBytes/8/blocks {
		return nil, fmt.Errorf("%w: a ring of %d blocks of %d numbers: want at least 1, and at most %d MiB", ErrConfig, blocks, block, maxRingBytes>>20)
	}
	return &Ring[F]{block: int64(block), blocks: int64(blocks), data: make([]F, block*blocks)}, nil
}

const maxRingBytes = 1 << 30

// Put copies a block into the ring. It returns false, and does nothing, if the
// ring is full. x must hold a block.
func (r *Ring[F]) Put(x []F) bool {
	n := r.put.Load()
	if n-r.gotSeen >= r.blocks {
		if r.gotSeen = r.got.Load(); n-r.gotSeen >= r.blocks {
			return false
		}
	}
	at := n % r.blocks * r.block
	copy(r.data[at:at+r.block], x)
	r.put.Store(n + 1)
	return true
}

// Get copies the oldest block out of the ring into dst. It returns false, and
// does nothing, if the ring is empty.
func (r *Ring[F]) Get(dst []F) bool {
	x, ok := r.oldest()
	if ok {
		copy(dst, x)
		r.drop()
	}
	return ok
}

// oldest returns the oldest block in place; it is valid until drop.
func (r *Ring[F]) oldest() ([]F, bool) {
	n := r.got.Load()
	if r.putSeen <= n {
		if r.putSeen = r.put.Load(); r.putSeen <= n {
			return nil, false
		}
	}
	at := n % r.blocks * r.block
	return r.data[at : at+r.block], true
}

// drop frees the oldest block.
func (r *Ring[F]) drop() { r.got.Store(r.got.Load() + 1) }

// Len returns the current number of blocks in the ring.
func (r *Ring[F]) Len() int { return int(r.put.Load() - r.got.Load()) }
