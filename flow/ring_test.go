package flow

import (
	"math/rand/v2"
	"testing"
)

// TestRing writes and reads a stream in pieces, moves it and clears its end.
func TestRing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, frames := range []int{1, 2, 3, 8, 13} {
		const rows = 3
		size := ringRoom(frames)
		g := frameRing[float64]{Data: make([]float64, rows*size), Rows: rows, Size: size}
		value := func(row int, f int64) float64 {
			if f < 0 {
				return 0
			}
			return float64(f)*10 + float64(row) + 1
		}
		x := make([]float64, rows*40)
		oldest := int64(-3) // that is still there
		for end := int64(0); end < 200; {
			n := 1 + r.IntN(size)
			for i := range rows {
				for k := range n {
					x[i*40+k] = value(i, end+int64(k))
				}
			}
			g.Put(end, x, n, 40)
			end += int64(n)
			n = 1 + r.IntN(size)
			oldest = max(oldest, min(end-int64(size), end-1))
			at := max(oldest, end-int64(n)-3)
			n = min(n, int(end-at))
			g.Take(at, 0, x, n, 40)
			for i := range rows {
				for k := range n {
					if got := x[i*40+k]; got != value(i, at+int64(k)) {
						t.Fatalf("size %d: frame %d of row %d is %v", size, at+int64(k), i, got)
					}
				}
			}
			if r.IntN(10) == 0 {
				size *= 2
				if size > 32 {
					break
				}
				oldest = max(oldest, end-int64(size/2))
				g.Move(make([]float64, rows*size), size, end)
				g.Take(max(0, end-int64(size/2)), 0, x, min(int(end), size/2), 40)
				if x[0] != value(0, max(0, end-int64(size/2))) {
					t.Fatalf("after a move to %d frames the oldest is %v", size, x[0])
				}
			}
			if r.IntN(10) == 0 {
				n = min(n, int(end))
				g.Clear(end, n)
				g.Take(end-int64(n), 0, x, n, 40)
				for k := range n {
					if x[k] != 0 {
						t.Fatalf("frame %d of %d is %v after Clear", k, n, x[k])
					}
				}
				break
			}
		}
	}
	(&frameRing[float64]{Rows: 1}).Put(0, []float64{1}, 1, 1) // no reader
}
