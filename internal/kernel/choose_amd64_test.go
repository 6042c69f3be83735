//go:build !noasm

package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"atenia/tensor"
)

// TestChoices has two goroutines meet a large product first: it is measured and
// recorded, and every candidate yields the same bits.
func TestChoices(t *testing.T) {
	if level.Load() != levelAVX512 {
		t.Skip("there is a choice with AVX-512 alone")
	}
	const outs, cols, rows = 256, 2816, 96
	r := rand.New(rand.NewPCG(1, 1))
	w := Matrix{DType: tensor.Q4_0, Rows: outs, Cols: cols, Data: make([]byte, outs*cols/32*18)}
	for i := range w.Data {
		w.Data[i] = byte(r.Uint32()) & 0x3f
	}
	w.Tiles = aligned64(make([]byte, PackedBytes(w.DType, outs, cols)+64))
	w.Pack(w.Tiles, 0, outs)
	x := aligned64(make([]byte, rows*FormQ8.RowBytes(cols)+64))[:rows*FormQ8.RowBytes(cols)]
	values := make([]float32, cols)
	for i := range rows {
		for k := range values {
			values[k] = float32(r.NormFloat64())
		}
		FormQ8.Prepare(x[i*FormQ8.RowBytes(cols):], values)
	}
	SetVariant(Variant()) // measures anew
	dst := make([]float32, rows*outs)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { MatMulQ(dst, outs, &w, outs/2*i, outs/2*(i+1), x, rows) })
	}
	wg.Wait()
	d := Decisions()
	if len(d) != 2 {
		t.Fatalf("decisions: %+v", d)
	}
	for _, d := range d {
		if d.Class != "Q4_0" || len(d.Candidates) < 2 {
			t.Errorf("%+v", d)
		}
	}
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	got := make([]float32, len(dst))
	for _, group := range []int{panelTiles, 4, 2} {
		for i := 0; i < outs/TileRows; i += group {
			panelTilesOf(got[i*TileRows:], outs, &w, i, group, xRows{x, cols}, rows)
		}
		if !slices.EqualFunc(got, dst, same) {
			t.Errorf("%d tiles at a time differ", group)
		}
	}
	fusedTiles(got, outs, &w, 0, outs/TileRows, xRows{x, cols}, rows)
	if !slices.EqualFunc(got, dst, same) {
		t.Error("rows unpacked in registers differ")
	}
}
