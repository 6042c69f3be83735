//go:build !noasm

package kernel

import (
	"unsafe"

	"atenia/tensor"
)

// tileList holds the addresses of the tiles of a span. Tiles outside the
// requested positions repeat the nearest one; the entries past the end are those
// to prefetch.
type tileList [AttentionSpan/tileKeys + tilesAhead]*byte

// tilesAhead is how many tiles ahead assembly prefetches.
const tilesAhead = 4

// fill finds the tiles of [lo, hi).
func (l *tileList) fill(k *Rows, lo, hi int) {
	base := lo - lo%AttentionSpan
	first, last := lo%AttentionSpan/tileKeys, (hi-1)%AttentionSpan/tileKeys
	for t := first; t <= last; t++ {
		l[t] = &k.rows(base+t*tileKeys, tileKeys)[0]
	}
	if first%2 == 1 {
		l[first-1] = l[first]
	}
	for t := last + 1; t <= last|1+tilesAhead; t++ {
		l[t] = l[t-1]
		if pos := base + t*tileKeys; pos/k.PageRows < len(k.Pages) && k.Pages[pos/k.PageRows] != nil {
			l[t] = &k.rows(pos, tileKeys)[0]
		}
	}
}

// scoreTiles passes whole tiles to assembly, in pairs for AVX-512.
func scoreTiles(dst, q []float32, n int, k *Rows, lo, hi int, scale float32) {
	if level.Load() == 0 || k.width() != tileKeys || k.Dim%4 != 0 {
		scoresGeneric(dst, q, n, k, lo, hi, scale)
		return
	}
	var list tileList
	list.fill(k, lo, hi)
	first, end := lo%AttentionSpan/tileKeys, (hi-1)%AttentionSpan/tileKeys+1
	if level.Load() == levelAVX512 {
		first /= 2
		groups := (end+1)/2 - first
		scoresAVX512(k.DType, &dst[2*first*tileKeys], &q[0], n, k.Dim, &list[2*first], groups, scale)
		return
	}
	scoresAVX2(k.DType, &dst[first*tileKeys], &q[0], n, k.Dim, &list[first], end-first, scale)
}

// weightedLeast is the fewest columns that assembly adds: half a vector of
// AVX-512, which uses the function for AVX2.
const weightedLeast = 8

// weightedTiles passes to assembly as many columns as its registers hold, then
// fewer, and the rest to portable code.
func weightedTiles(dst, p []float32, n int, v *Rows, lo, hi int) {
	wide, narrow := 32, weightedLeast
	if level.Load() == levelAVX2 {
		wide = 16
	}
	if v.DType == tensor.Q8_0 {
		wide, narrow = 32, 32
	}
	if level.Load() == 0 || v.width() != tileKeys || v.Dim < narrow {
		weightedGeneric(dst, p, n, v, lo, hi, 0)
		return
	}
	var list tileList
	list.fill(v, lo, hi)
	size := typeRowBytes(v.DType, v.Dim)
	t, skip := lo%AttentionSpan/tileKeys, lo%tileKeys
	list[t] = (*byte)(unsafe.Add(unsafe.Pointer(list[t]), skip*size)) // within the tile
	w := weighting{p: &p[lo%AttentionSpan], tiles: &list[t], rowBytes: size, first: min(hi-lo, tileKeys-skip), count: hi - lo}
	c := 0
	for ; v.Dim-c >= wide; c += wide {
		w.columns(&dst[c], 4*v.Dim, n, typeRowBytes(v.DType, c), v.DType, wide)
	}
	for cols := wide; cols > narrow; {
		cols /= 2
		if v.Dim-c >= cols {
			w.columns(&dst[c], 4*v.Dim, n, typeRowBytes(v.DType, c), v.DType, cols)
			c += cols
		}
	}
	if c < v.Dim {
		weightedGeneric(dst, p, n, v, lo, hi, c)
	}
}

// A weighting holds the arguments shared by all columns of a weighted sum.
type weighting struct {
	p                      *float32
	tiles                  **byte
	rowBytes, first, count int
}

func (w *weighting) columns(d *float32, ds, n, off int, t tensor.DType, cols int) {
	if level.Load() == levelAVX512 && cols > weightedLeast {
		weightedAVX512(t, cols, d, ds, w.p, n, w.tiles, off, w.rowBytes, w.first, w.count)
	} else {
		weightedAVX2(t, cols, d, ds, w.p, n, w.tiles, off, w.rowBytes, w.first, w.count)
	}
}
