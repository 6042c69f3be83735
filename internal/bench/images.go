package bench

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"time"

	"atenia/internal/engine"
	"atenia/internal/machine/cpu"
	"atenia/internal/model/file"
	"atenia/internal/sight"
)

// An ImageConfig configures [Images].
type ImageConfig struct {
	Side    int // pixels of the side of the image
	Repeats int
	Threads int // 0 = physical cores
	Precise bool
	Tower   string // the file of the tower of a GGUF model; "" = beside it
}

// An ImageReport is how long images take.
type ImageReport struct {
	Patches, Tokens int // of one image
	Pieces          int // that it is cut into
	Threads         int
	Prepare, Encode []float64 // seconds: from the bytes of a PNG file to patches, from these to rows
}

// Images measures how fast a model reads images: squares of random pixels, which its
// image processor resizes as it does others. Neither the decoder nor its tokenizer is
// loaded. Times are in the order they were taken, after one image that reads the weights.
func Images(ctx context.Context, path string, c ImageConfig) (r *ImageReport, err error) {
	var options []file.Option
	if c.Tower != "" {
		options = append(options, file.Tower(c.Tower))
	}
	d, err := engine.OpenFiles(path, "", options...)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	p, err := engine.Compile(d, engine.Config{})
	if err != nil {
		return nil, err
	}
	if c.Threads == 0 {
		here := cpu.Detect()
		c.Threads = here.Threads()
	}
	e, err := sight.Open(sight.Config{Model: p.Model, Files: d, Threads: c.Threads, Precise: c.Precise, Account: p.Account()})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", engine.Display(path), err)
	}
	defer e.Close()
	r = &ImageReport{Threads: c.Threads}
	for i := range c.Repeats + 1 {
		data, err := randomImage(c.Side, uint64(i)) // each once: those that were seen are kept
		if err != nil {
			return nil, err
		}
		start := time.Now()
		s, err := e.Look(data)
		if err != nil {
			return nil, err
		}
		all := time.Since(start)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i == 0 { // which reads the weights
			r.Pieces = len(s.Pieces)
			for _, p := range s.Pieces {
				r.Tokens += p.Tokens()
			}
			v := p.Model.Config.Vision
			r.Patches = r.Tokens * v.Merge * v.Merge
			continue
		}
		r.Prepare, r.Encode = append(r.Prepare, (all-s.Took).Seconds()), append(r.Encode, s.Took.Seconds())
	}
	return r, nil
}

// randomImage returns the bytes of a PNG file.
func randomImage(side int, seed uint64) ([]byte, error) {
	g := rand.New(rand.NewPCG(seed, 1))
	m := image.NewNRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			v := g.Uint32()
			m.SetNRGBA(x, y, color.NRGBA{uint8(v), uint8(v >> 8), uint8(v >> 16), 255})
		}
	}
	var b bytes.Buffer
	fast := png.Encoder{CompressionLevel: png.NoCompression}
	err := fast.Encode(&b, m)
	return b.Bytes(), err
}
