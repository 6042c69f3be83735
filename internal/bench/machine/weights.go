package machine

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"atenia/internal/kernel"
	"atenia/internal/model/quant"
	"atenia/tensor"
)

// format adds all kernels that read an element type.
func (b *bench) format(d tensor.DType) (err error) {
	packed := map[int]bool{} // widths whose tiles are in this format
	for _, s := range []productShape{
		{"decode", 1, benchFFN, benchWidth}, {"decode", 1, benchWidth, benchFFN},
		{"batch 8", 8, benchFFN, benchWidth}, {"prefill 512", 512, benchFFN, benchWidth},
	} {
		k := Rate{Use: s.use, Format: formatName(d), Shape: fmt.Sprintf("%dx%d", s.outs, s.cols)}
		s.outs = max(1, s.outs/benchPiece/b.cfg.Threads) * benchPiece // per thread
		if n := kernel.PackedBytes(d, s.outs, s.cols); n > 0 {
			if b.wanted(&k) && !packed[s.cols] {
				packed[s.cols] = true
				if err := b.pack(d, &s); err != nil {
					return err
				}
			}
			err = b.product(k, d, &s, n/(s.outs/benchPiece), func(t, i int) kernel.Matrix {
				tiles := part(b.tiles[s.cols][t], n, i/(s.outs/benchPiece))
				return kernel.Matrix{DType: d, Rows: s.outs, Cols: s.cols, Tiles: tiles}
			})
			k.Unpacked = true
		}
		size := rowBytes(d, s.outs*s.cols)
		err = errors.Join(err, b.product(k, d, &s, rowBytes(d, benchPiece*s.cols), func(t, i int) kernel.Matrix {
			return kernel.Matrix{DType: d, Rows: s.outs, Cols: s.cols, Data: part(b.memory[t], size, i/(s.outs/benchPiece))}
		}))
		if err != nil {
			return err
		}
	}
	if d == tensor.F32 || d == tensor.F16 || d == tensor.Q8_0 {
		return b.attention(d)
	}
	return nil
}

// A productShape is rows times weights [outs, cols].
type productShape struct {
	use              string
	rows, outs, cols int
}

// benchPiece is the number of outputs per call, as in a model.
const benchPiece = 128

// rowBytes returns the row size for shapes that every format divides.
func rowBytes(d tensor.DType, n int) int {
	values, bytes := d.Block()
	return n / values * bytes
}

// fill fills memory with random weights of a type, without infinities and
// subnormals, which slow processors down.
func (b *bench) fill(d tensor.DType) (err error) {
	if b.filled == d {
		return nil
	}
	if b.memory == nil {
		if b.memory, err = b.reserve(); err != nil {
			return err
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, 1<<14)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	pattern := make([]byte, rowBytes(d, len(values)))
	if err := quant.Quantize(pattern, d, values, nil); err != nil {
		return err
	}
	b.together(func(t int) { repeat(b.memory[t], pattern) })
	b.filled = d
	return nil
}

func repeat(dst, pattern []byte) {
	for len(dst) > 0 {
		dst = dst[copy(dst, pattern):]
	}
}

// pack fills the tiles of a width with packed matrices.
func (b *bench) pack(d tensor.DType, s *productShape) (err error) {
	if err := b.fill(d); err != nil {
		return err
	}
	if b.tiles == nil {
		b.tiles = map[int][][]byte{}
	}
	if b.tiles[s.cols] == nil {
		if b.tiles[s.cols], err = b.reserve(); err != nil {
			return err
		}
	}
	b.together(func(t int) {
		w := kernel.Matrix{DType: d, Rows: s.outs, Cols: s.cols, Data: b.memory[t][:rowBytes(d, s.outs*s.cols)]}
		tiles := b.tiles[s.cols][t]
		n := kernel.PackedBytes(d, s.outs, s.cols)
		w.Pack(tiles[:n], 0, s.outs)
		repeat(tiles[n:], tiles[:n])
	})
	return nil
}

// product adds rows times weights: matrix returns the matrix of piece i of a
// thread, and a piece reads the given number of bytes.
func (b *bench) product(k Rate, d tensor.DType, s *productShape, bytes int, matrix func(t, i int) kernel.Matrix) error {
	if !b.wanted(&k) {
		return nil
	}
	if err := b.fill(d); err != nil {
		return err
	}
	form, rows, outs, cols := kernel.FormOf(d), s.rows, s.outs, s.cols
	x := make([]byte, rows*form.RowBytes(cols)) // shared by the threads, as in a model
	row := wave(cols)
	for r := range rows {
		form.Prepare(x[r*form.RowBytes(cols):], row)
	}
	b.measure(k, func(t int) work {
		dst := make([]float32, rows*outs)
		return work{bytes, 2 * rows * benchPiece * cols, func(i int) {
			w, lo := matrix(t, i), i*benchPiece%outs
			kernel.MatMulQ(dst, outs, &w, lo, lo+benchPiece, x, rows)
		}}
	})
	return nil
}

// attention adds scores and weighted sums over pages read by a group of query
// heads.
func (b *bench) attention(d tensor.DType) error {
	head, err := d.RowBytes(benchDim)
	if err != nil {
		return err
	}
	const span, queries = kernel.AttentionSpan, benchGroup * benchKV
	size := benchTokens * benchKV * head // of a page
	pieces := func(t int, f func(kv int, rows *kernel.Rows)) work {
		rows := kernel.Rows{DType: d, Pages: make([][]byte, span/benchTokens), PageRows: benchTokens, Dim: benchDim}
		return work{size * len(rows.Pages), 2 * queries * span * benchDim, func(i int) {
			for p := range rows.Pages {
				rows.Pages[p] = part(b.memory[t], size, i*len(rows.Pages)+p)
			}
			for kv := range benchKV {
				rows.Off = kv * benchTokens * head
				f(kv, &rows)
			}
		}}
	}
	shape := fmt.Sprintf("%dx%d", benchGroup, benchDim)
	q, p := wave(queries*benchDim), wave(queries*span)
	scores := func(t int) work {
		dst := make([]float32, queries*span)
		return pieces(t, func(kv int, rows *kernel.Rows) {
			kernel.Scores(dst[kv*benchGroup*span:], q[kv*benchGroup*benchDim:], benchGroup, rows, 0, span, 0.1)
		})
	}
	weighted := func(t int) work {
		dst := make([]float32, queries*benchDim)
		return pieces(t, func(kv int, rows *kernel.Rows) {
			kernel.Weighted(dst[kv*benchGroup*benchDim:], p[kv*benchGroup*span:], benchGroup, rows, 0, span)
		})
	}
	for i, worker := range []func(t int) work{scores, weighted} {
		k := Rate{Use: []string{"scores", "weighted"}[i], Format: formatName(d), Shape: shape}
		if b.wanted(&k) {
			if err := b.fill(d); err != nil {
				return err
			}
			b.measure(k, worker)
		}
	}
	return nil
}
