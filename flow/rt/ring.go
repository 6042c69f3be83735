package rt

import (
	"fmt"
	"sync/atomic"
)

// A Ring passes blocks of numbers from one thread to another without a lock:
// one puts, one gets, and neither ever waits for the other. Each side has its
// counter on cache lines of its own, with a copy of the other's that it renews
// only when the ring looks full, or empty.
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

// NewRing returns an empty ring of so many blocks of block numbers each.
func NewRing[F float32 | float64](block, blocks int) (*Ring[F], error) {
	if block < 1 || blocks < 1 || block > maxRingBytes/8/blocks {
		return nil, fmt.Errorf("%w: a ring of %d blocks of %d numbers: want at least 1, and at most %d MiB", ErrConfig, blocks, block, maxRingBytes>>20)
	}
	return &Ring[F]{block: int64(block), blocks: int64(blocks), data: make([]F, block*blocks)}, nil
}

const maxRingBytes = 1 << 30

// Put copies a block into the ring. It reports false, and does nothing, when
// the ring is full. x has at least a block's numbers.
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

// Get copies the oldest block out of the ring into dst. It reports false, and
// does nothing, when the ring is empty.
func (r *Ring[F]) Get(dst []F) bool {
	x, ok := r.oldest()
	if ok {
		copy(dst, x)
		r.drop()
	}
	return ok
}

// oldest returns the oldest block in place; it stays until drop.
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

// drop gives the oldest block's room back.
func (r *Ring[F]) drop() { r.got.Store(r.got.Load() + 1) }

// Len is the number of blocks in the ring, as seen now.
func (r *Ring[F]) Len() int { return int(r.put.Load() - r.got.Load()) }
