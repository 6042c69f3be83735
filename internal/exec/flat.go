package exec

import (
	"atenia/internal/kernel"
	"atenia/tensor"
)

// flatAlign is the width of a tile of keys: each run begins at a whole one, so
// that the order of a row's additions does not depend on the runs before it.
const flatAlign = 16

// A flatRows holds the keys and values of one step for attention without a
// cache, in which every row of a run may attend to every other: encoders and
// image towers. It has the layout of a page of a cache, with the runs one after
// the other.
type flatRows struct {
	k, v         scratch
	keys, values [1][]byte // of this step
	capacity     int       // rows
	dim          int
}

// bindFlat reserves memory for the keys and values of a step.
func (a *attention) bindFlat(b *Bind) error {
	n := b.x.flatCapacity()
	a.elem = tensor.F32
	a.headBytes = 4 * a.dim * n
	a.flat = &flatRows{capacity: n, dim: a.dim}
	a.flat.k, a.flat.v = b.bytes(a.kvHeads*a.headBytes), b.bytes(a.kvHeads*a.headBytes)
	b.x.flat = true
	return nil
}

// flatCapacity is the number of rows that the runs of a step may take, each
// rounded up to whole tiles: that of the largest step, and as much again.
func (x *Executor) flatCapacity() int { return (2*x.cfg.MaxTokens + flatAlign - 1) &^ (flatAlign - 1) }

// A Room counts what is left of a step for whole sequences.
type Room struct{ rows, flat int }

// Room returns that of an empty step.
func (x *Executor) Room() Room { return Room{x.cfg.MaxTokens, x.flatCapacity()} }

// Take takes the rows of one sequence, and reports whether there is room.
func (r *Room) Take(n int) bool {
	padded := (n + flatAlign - 1) &^ (flatAlign - 1)
	if n > r.rows || padded > r.flat {
		return false
	}
	r.rows, r.flat = r.rows-n, r.flat-padded
	return true
}

// layRuns decides where the rows of each run are in flat memory.
func (s *Step) layRuns(x *Executor) error {
	for _, runs := range [][]Run{s.Runs, s.windows} {
		at := 0
		for i := range runs {
			runs[i].flat = at
			at += (runs[i].Len + flatAlign - 1) &^ (flatAlign - 1)
		}
		if most := x.flatCapacity(); at > most {
			return stepErrorf("%d runs take %d rows of attention, rounded up to %d each; there is room for %d: run fewer at a time", len(runs), at, flatAlign, most)
		}
	}
	return nil
}

func (f *flatRows) open(x *Executor) {
	f.keys[0], f.values[0] = x.bytesOf(f.k), x.bytesOf(f.v)
}

// rows returns the keys and values of a run for one key head.
func (f *flatRows) rows(run *Run, kv int) (keys, values kernel.Rows) {
	keys = kernel.Rows{DType: tensor.F32, Pages: f.keys[:], Off: 4 * f.dim * (kv*f.capacity + run.flat), PageRows: f.capacity, Dim: f.dim}
	values = keys
	values.Pages = f.values[:]
	return keys, values
}
