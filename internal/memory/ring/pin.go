package ring

import (
	"context"
	"fmt"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/lane"
)

// Pinned is a set of spans pinned in memory, each in a block of its own, so that
// one can be given back while the others stay.
type Pinned struct {
	views  [][]byte
	blocks []ledger.Block
}

// Pin reads spans into memory that it reserves in an account, with direct I/O.
// The lanes do it, or for nil lanes of its own.
func Pin(ctx context.Context, x *lane.Executor, a *ledger.Account, files []Source, spans []Span) (*Pinned, error) {
	h := &Pinned{views: make([][]byte, len(spans)), blocks: make([]ledger.Block, len(spans))}
	var pieces []piece
	var moves []move
	for i := range spans {
		err := spans[i].check(files, 0)
		if err == nil {
			h.blocks[i], err = ledger.NewHugeBlock(a, ledger.Weights, spans[i].room())
		}
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("ring: %w", err)
		}
		v, p, m := cut(spans[i:i+1], h.blocks[i].Bytes, Piece)
		h.views[i], pieces, moves = v[0], append(pieces, p...), append(moves, m...)
	}
	if err := readAll(ctx, x, files, pieces); err != nil {
		h.Close()
		return nil, err
	}
	for _, m := range moves {
		copy(m.to, m.from)
	}
	return h, nil
}

// readAll reads pieces, several at a time.
func readAll(ctx context.Context, x *lane.Executor, files []Source, pieces []piece) error {
	if x == nil {
		x = lane.New(lane.Config{Readers: Readers})
		defer x.Close()
	}
	total := 0
	for i := range pieces {
		total += len(pieces[i].mem)
	}
	return x.Run(ctx, func(g *lane.Group) error {
		for i := range pieces {
			g.Go(lane.Task{
				QueuedTask: lane.QueuedTask{Queue: lane.SSDPrefetch, Kind: lane.IOTask, Name: "pin", Cost: uint64(total)},
				Part:       i > 0,
				Bytes:      uint64(len(pieces[i].mem)),
				Work:       lane.Func(func(context.Context) error { return pieces[i].fetch(files, false) }),
			})
		}
		return nil
	})
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
