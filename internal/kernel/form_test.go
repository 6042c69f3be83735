package kernel_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/kerneltest"
)

// A row prepared piece by piece is the row prepared at once.
func TestPrepareCols(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, form := range []kernel.Form{kernel.FormF32, kernel.FormQ8} {
		for _, cols := range []int{1, 31, 32, 64, 250, 256, 257, 288, 512, 896, 1000, 2048, 2304, 4864} {
			src := kerneltest.Floats(r, cols)
			want, got := make([]byte, form.RowBytes(cols)), make([]byte, form.RowBytes(cols))
			form.Prepare(want, src)
			var cuts []int
			for c := 0; c < cols; c += 32 * (1 + r.IntN(12)) {
				cuts = append(cuts, c)
			}
			cuts = append(cuts, cols)
			for _, k := range r.Perm(len(cuts) - 1) {
				form.PrepareCols(got, src, cuts[k], cuts[k+1])
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%v, %d columns cut at %v differ", form, cols, cuts)
			}
		}
	}
}
