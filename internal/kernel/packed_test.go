package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/tensor"
)

// Packed weights of any bits mean what the source means.
func TestPack(t *testing.T) {
	for d := range tensor.DType(tensor.NumDTypes) {
		if packingOf(d).low == 0 {
			continue
		}
		values, bytes := d.Block()
		for _, n := range []int{values, 3 * values, 768, 896 / values * values, 2048, 2304 + values} {
			for _, rows := range []int{1, 16, 21} {
				t.Run(fmt.Sprintf("%v/%d×%d", d, rows, n), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), uint64(rows)))
					w := &Matrix{DType: d, Rows: rows, Cols: n, Data: make([]byte, rows*n/values*bytes)}
					w.Tiles = make([]byte, PackedBytes(d, rows, n))
					for i := range w.Data {
						w.Data[i] = byte(r.Uint32())
					}
					for i := range w.Tiles {
						w.Tiles[i] = 0xa5
					}
					for j := 0; j < rows; j += TileRows {
						w.Pack(w.Tiles, j, min(j+TileRows, rows))
					}
					for j := range rows {
						checkPacked(t, w, j)
					}
				})
			}
		}
	}
}

func checkPacked(t *testing.T, w *Matrix, j int) {
	t.Helper()
	p := packingOf(w.DType)
	packed := w.Tiles[j/TileRows*p.tileBytes(w.Cols):]
	for c := 0; c < w.Cols; {
		n := min(chunkBlocks*blockCols, w.Cols-c)
		ch := chunkOf(p, packed, n)
		for i := range ch.n {
			var got, want wBlock
			m := min(blockCols, n-i*blockCols)
			unpackGeneric(&want, w.DType, w.Data[j*w.rowBytes():(j+1)*w.rowBytes()], c+i*blockCols, m)
			for b := range m / 32 {
				unpackCell(&got, w.DType, &ch, b, i, j%TileRows)
			}
			if got.q != want.q {
				t.Fatalf("row %d, columns from %d: codes\n%v, want\n%v", j, c+i*blockCols, got.q, want.q)
			}
			for g := range want.s {
				if !sameBits(got.s[g], want.s[g]) || !sameBits(got.m[g], want.m[g]) {
					t.Fatalf("row %d, columns from %d: group %d has %g and %g, want %g and %g",
						j, c+i*blockCols, g, got.s[g], got.m[g], want.s[g], want.m[g])
				}
			}
		}
		packed, c = packed[p.chunkBytes(n):], c+n
	}
}

func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// BenchmarkPack is how fast a thread packs, by bytes of the source.
func BenchmarkPack(b *testing.B) {
	for d := range tensor.DType(tensor.NumDTypes) {
		if packingOf(d).low == 0 {
			continue
		}
		b.Run(d.String(), func(b *testing.B) {
			values, bytes := d.Block()
			w := &Matrix{DType: d, Rows: 256, Cols: 2048, Data: make([]byte, 256*2048/values*bytes)}
			w.Tiles = make([]byte, PackedBytes(d, w.Rows, w.Cols))
			b.SetBytes(int64(len(w.Data)))
			for b.Loop() {
				w.Pack(w.Tiles, 0, w.Rows)
			}
		})
	}
}
