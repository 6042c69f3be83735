package ring

import (
	"context"
	"fmt"

	"atenia/internal/memory/arena"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/ledger"
	"atenia/internal/memory/timeline"
)

// Pinned is a set of spans pinned in memory.
type Pinned struct {
	views [][]byte
	block arena.Block
}

// Pin reads spans into memory that it reserves in an account, with direct I/O.
// The lanes do it, or for nil lanes of its own.
func Pin(ctx context.Context, x *lane.Executor, a *ledger.Account, files []Source, spans []Span) (*Pinned, error) {
	total := 0
	for i := range spans {
		if err := spans[i].check(files, 0); err != nil {
			return nil, err
		}
		total += spans[i].room()
	}
	block, err := arena.NewHuge(a, ledger.Weights, total)
	if err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	h := &Pinned{block: block}
	views, pieces, moves := cut(spans, block.Bytes, Piece)
	h.views = views
	if x == nil {
		x = lane.New(lane.Config{Readers: Readers})
		defer x.Close()
	}
	err = x.Run(ctx, func(g *lane.Group) error {
		for i := range pieces {
			g.Go(lane.Task{
				Task:  timeline.Task{Queue: timeline.SSDPrefetch, Kind: timeline.IO, Name: "pin", Cost: uint64(total)},
				Part:  i > 0,
				Bytes: uint64(len(pieces[i].mem)),
				Work:  lane.Func(func(context.Context) error { return pieces[i].fetch(files, false) }),
			})
		}
		return nil
	})
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
