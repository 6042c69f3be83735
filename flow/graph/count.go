package graph

// This file holds the counting rules that executors and schedules share.

// TempoOpen reports whether block k, of frames frames each, contains a multiple
// of the period.
func TempoOpen(period, frames, k int64) bool {
	from := k * frames
	return (from+period-1)/period*period < from+frames
}

// Readable returns how many frames the edge's reader may take after written
// frames were written and read frames read. ended means that the stream has
// ended, so that the hold no longer withholds frames.
func (e *LinkedEdge) Readable(written, read int64, ended bool) int64 {
	if !ended {
		written = max(0, written-int64(e.Hold))
	}
	return int64(e.Prefill) + written - read
}

// Slice returns the tokens of one call of node v: within a cycle those of a
// sub-block, elsewhere those of a block.
func (l *Linked) Slice(v int) int {
	n := &l.Nodes[v]
	if n.Comp < 0 {
		return n.Tokens
	}
	sub := l.Sub[n.Comp]
	r, ok := sub.times(n.Rate.Num, n.Rate.Den)
	if !ok {
		return n.Tokens
	}
	return min(n.Tokens, int(max(1, r.Num/r.Den)))
}

// Frames returns the edge's frames per block, which Link found to be a whole
// number.
func (l *Linked) Frames(e *LinkedEdge) int {
	n, _ := e.Rate.Frames(l.BlockFrames)
	return n
}
