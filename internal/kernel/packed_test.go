package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/tensor"
)

type matrix struct {
	d          tensor.DType
	rows, cols int
	data       []byte
	tiles      []byte
}

// Packed weights of any bits dequantise to the same values as their source.
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
					w := &matrix{d, rows, n, make([]byte, rows*n/values*bytes), make([]byte, blockPackedBytes(d, rows, n))}
					for i := range w.data {
						w.data[i] = byte(r.Uint32())
					}
					for i := range w.tiles {
						w.tiles[i] = 0xa5
					}
					for j := 0; j < rows; j += TileRows {
						packBlock(w.tiles, d, n, w.data, j, min(j+TileRows, rows))
					}
					for j := range rows {
						checkPacked(t, w, j)
					}
				})
			}
		}
	}
}

func checkPacked(t *testing.T, w *matrix, j int) {
	t.Helper()
	p := packingOf(w.d)
	packed := w.tiles[j/TileRows*p.TileBytes(w.cols):]
	for c := 0; c < w.cols; {
		n := min(chunkCols, w.cols-c)
		ch := chunkOf(p, packed, n)
		for i := range ch.N {
			var got, want UnpackedBlock
			m := min(Cols, n-i*Cols)
			unpackBlock(&want, w.d, w.data[j*rowBytes(w.d, w.cols):][:rowBytes(w.d, w.cols)], c+i*Cols, m)
			for b := range m / 32 {
				ch.Unpack(&got, w.d, b, i, j%TileRows)
			}
			if got.Q != want.Q {
				t.Fatalf("row %d, columns from %d: codes\n%v, want\n%v", j, c+i*Cols, got.Q, want.Q)
			}
			for g := range want.S {
				if !sameBits(got.S[g], want.S[g]) || !sameBits(got.M[g], want.M[g]) {
					t.Fatalf("row %d, columns from %d: group %d has %g and %g, want %g and %g",
						j, c+i*Cols, g, got.S[g], got.M[g], want.S[g], want.M[g])
				}
			}
		}
		packed, c = packed[p.ChunkBytes(n):], c+n
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
			data := make([]byte, 256*2048/values*bytes)
			tiles := make([]byte, blockPackedBytes(d, 256, 2048))
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				packBlock(tiles, d, 2048, data, 0, 256)
			}
		})
	}
}
