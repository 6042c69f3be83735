package ring

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"atenia/internal/memory/arena"
	"atenia/internal/memory/ledger"
)

// Pinned is a set of spans pinned in memory, each in a block of its own, so that
// one can be given back while the others stay.
type Pinned struct {
	views  [][]byte
	blocks []arena.Block
}

// Pin reads spans into memory that it reserves in an account, with direct I/O.
func Pin(ctx context.Context, a *ledger.Account, files []Source, spans []Span) (*Pinned, error) {
	h := &Pinned{views: make([][]byte, len(spans)), blocks: make([]arena.Block, len(spans))}
	var pieces []piece
	var moves []move
	for i := range spans {
		err := spans[i].check(files)
		if err == nil {
			h.blocks[i], err = arena.NewHuge(a, ledger.Weights, spans[i].room())
		}
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("ring: %w", err)
		}
		v, p, m := cut(spans[i:i+1], h.blocks[i].Bytes, usualPiece)
		h.views[i], pieces, moves = v[0], append(pieces, p...), append(moves, m...)
	}
	if err := readAll(ctx, files, pieces); err != nil {
		h.Close()
		return nil, err
	}
	for _, m := range moves {
		copy(m.to, m.from)
	}
	return h, nil
}

// readAll reads pieces, several at a time.
func readAll(ctx context.Context, files []Source, pieces []piece) (err error) {
	var next atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	for range min(usualReaders, len(pieces)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(pieces) {
					return
				}
				e := context.Cause(ctx)
				if e == nil {
					e = pieces[i].fetch(files, false)
				}
				if e != nil {
					once.Do(func() { err = e })
					next.Store(int64(len(pieces)))
				}
			}
		})
	}
	wg.Wait()
	return err
}

// Bytes returns a span, nil if it was released.
func (h *Pinned) Bytes(span int) []byte { return h.views[span] }

// Resident returns the memory that a span takes, in bytes: 0 if it was released.
func (h *Pinned) Resident(span int) int64 { return int64(len(h.blocks[span].Bytes)) }

// Release frees the memory of one span. It may be called more than once.
func (h *Pinned) Release(span int) {
	h.blocks[span].Release()
	h.views[span] = nil
}

// Close frees the memory of all spans.
func (h *Pinned) Close() {
	for i := range h.blocks {
		h.Release(i)
	}
}
