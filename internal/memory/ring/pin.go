package ring

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"atenia/internal/memory/arena"
	"atenia/internal/memory/ledger"
)

// Pinned is a set of spans pinned in memory.
type Pinned struct {
	views [][]byte
	block arena.Block
}

// Pin reads spans into memory that it reserves in an account, with direct I/O.
func Pin(ctx context.Context, a *ledger.Account, files []Source, spans []Span) (*Pinned, error) {
	total := 0
	for i := range spans {
		if err := spans[i].check(files); err != nil {
			return nil, err
		}
		total += spans[i].room()
	}
	block, err := arena.NewHuge(a, ledger.Weights, total)
	if err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	h := &Pinned{block: block}
	views, pieces, moves := cut(spans, block.Bytes, usualPiece)
	h.views = views
	var next atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	for range usualReaders {
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
	if err != nil {
		h.Close()
		return nil, err
	}
	for _, m := range moves {
		copy(m.to, m.from)
	}
	return h, nil
}

// Bytes returns a span.
func (h *Pinned) Bytes(span int) []byte { return h.views[span] }

// Resident returns the memory that all spans take, in bytes.
func (h *Pinned) Resident() int64 { return int64(len(h.block.Bytes)) }

// Close frees the memory.
func (h *Pinned) Close() {
	h.block.Release()
	h.views = nil
}
