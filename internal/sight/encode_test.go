package sight

import (
	"fmt"
	"os"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// BenchmarkEncode runs the tower of the model in the folder or file that
// ATENIA_VISION names over squares of 512, 768 and 1024 pixels, and reports the rate
// of its products: of projections and of attention.
func BenchmarkEncode(b *testing.B) {
	path := os.Getenv("ATENIA_VISION")
	if path == "" {
		b.Skip("ATENIA_VISION does not name a model that reads images")
	}
	d, err := file.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := Open(Config{Model: m, Files: d, Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for _, pixels := range []int{512, 768, 1024} {
		b.Run(fmt.Sprintf("%d", pixels), func(b *testing.B) {
			unit := e.v.Patch * e.v.Merge
			side := (pixels + unit/2) / unit * e.v.Merge
			p := &exec.Patches{Grid: [3]int{1, side, side}}
			n := side * side
			p.Values = make([]float32, n*e.v.Patch*e.v.Patch*e.v.Channels*e.v.Temporal)
			for i := range p.Values {
				p.Values[i] = float32(i*7919%2003)/1001 - 1
			}
			projections, attention := work(e.v, n)
			small := &exec.Patches{Grid: [3]int{1, e.v.Merge, e.v.Merge}}
			small.Values = p.Values[:e.v.Merge*e.v.Merge*len(p.Values)/n]
			if _, err := e.encode(small); err != nil { // which reads the weights
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.encode(p); err != nil {
					b.Fatal(err)
				}
			}
			s := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(n), "patches")
			b.ReportMetric((projections+attention)/s/1e9, "GFLOP/s")
			b.ReportMetric(100*attention/(projections+attention), "%attention")
		})
	}
}

// work returns the operations of a tower's blocks over n patches.
func work(v *compile.Vision, n int) (projections, attention float64) {
	width, matrices := v.Heads*v.HeadDim, 2
	if v.Gated {
		matrices = 3
	}
	layer := 4*v.Hidden*width + matrices*v.Hidden*v.FFN
	return 2 * float64(v.Layers) * float64(layer) * float64(n), 4 * float64(v.Layers) * float64(n) * float64(n) * float64(width)
}
