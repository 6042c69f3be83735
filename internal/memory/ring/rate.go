package ring

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
)

// Reads are how many bytes are read at once, and by how many readers.
type Reads struct {
	Readers int // 0 = [Readers]
	Bytes   int // of each; 0 = [Piece]
}

// ReadsOf returns the reads of a ring of so many slots while one of them is in use, of units
// of so many bytes: those of small units are few, and a disk is slower then.
func ReadsOf(slots int, unit int64) Reads {
	if slots < 2 || unit < 1 {
		return Reads{}
	}
	each := (unit + Piece - 1) / Piece
	size := (unit/each + PageBytes - 1) / PageBytes * PageBytes
	return Reads{int(min(Readers, each*int64(slots-1))), int(min(Piece, size))}
}

// A Meter measures how fast a ring reads a file, with memory that it keeps
// between measurements. One goroutine uses it at a time.
type Meter struct {
	f     Source
	block ledger.Block
	size  int64
	reads Reads
	at    atomic.Int64 // where the next piece begins
}

// NewMeter takes the memory for measurements. memory is rounded up to the
// minimum for the readers. If it is small, the buffers may stay in the
// processor's cache and rates are higher than that of a large model's ring.
func NewMeter(f Source, memory int, r Reads) (*Meter, error) {
	const least = Readers * Piece
	if r.Readers == 0 || r.Bytes == 0 {
		r = Reads{Readers, Piece}
	}
	memory = max(1, memory/least) * least
	block, err := ledger.NewHugeBlock(ledger.Process, ledger.Samples, memory)
	if err != nil {
		return nil, err
	}
	touch(block.Bytes)
	return &Meter{f: f, block: block, size: int64(memory), reads: r}, nil
}

// Close releases the memory.
func (m *Meter) Close() { m.block.Release() }

// Rate reads the file for a duration d, from where the last measurement ended,
// starting over at its end, and returns the bytes read per second.
func (m *Meter) Rate(ctx context.Context, d time.Duration) (float64, error) {
	var read atomic.Int64
	var once sync.Once
	var wg fault.Group
	var err error
	start := time.Now()
	piece := int64(m.reads.Bytes)
	for range m.reads.Readers {
		wg.Go(func() {
			// At least once: on a busy machine the time may be over before the first
			// read.
			for first := true; ctx.Err() == nil && (first || time.Since(start) < d); first = false {
				off := m.at.Add(piece) - piece
				buf := m.block.Bytes[off/piece%(m.size/piece)*piece:][:piece]
				if off >= m.f.Size() {
					m.at.CompareAndSwap(off+piece, 0)
					continue
				}
				n, e := m.f.ReadAt(buf, off)
				read.Add(int64(n))
				if e != nil && !errors.Is(e, io.EOF) {
					once.Do(func() { err = e })
					return
				}
			}
		})
	}
	wg.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return float64(read.Load()) / time.Since(start).Seconds(), err
}
