package quant

import (
	"fmt"
	"slices"
	"strings"

	"atenia/tensor"
)

// float8 adds matrices N of 8-bit floats with factors N_scale_inv (DeepSeek) or
// N_scale (compressed-tensors, FBGEMM): one for the matrix, one for each row, or
// one for each block of rows and columns; w = factor·v. Scales of activations are
// left out: activations are not rounded to 8 bits here.
func (r *reader) float8() error {
	block, _, err := r.pair("weight_block_size")
	if err != nil {
		return err
	}
	return r.floats8(block)
}

// activationScales are the names of tensors about activations and caches.
var activationScales = []string{
	".input_scale", ".input_scale_ub", ".input_zero_point", ".input_global_scale", ".activation_scale", ".output_scale",
	".k_scale", ".v_scale", ".q_scale", ".prob_scale", ".k_proj.output_scale", ".v_proj.output_scale", ".weight_format",
}

func (r *reader) dropActivations() {
	for i := range r.stored {
		if slices.ContainsFunc(activationScales, func(s string) bool { return strings.HasSuffix(r.stored[i].Name, s) }) {
			r.taken[i] = true
		}
	}
}

func (r *reader) floats8(block [2]int) error {
	r.dropActivations()
	for i := range r.stored {
		w, _ := r.find(r.stored[i].Name)
		if w.DType != tensor.F8E4M3 || r.taken[i] || len(w.Shape) < 2 {
			continue
		}
		s, ok := r.find(w.name + "_scale_inv")
		if !ok {
			if s, ok = r.find(w.name + "_scale"); !ok {
				continue // values alone
			}
		}
		if err := r.scaled8(w, s, block); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) scaled8(w, s part, block [2]int) error {
	if err := w.is(tensor.F8E4M3); err != nil {
		return err
	}
	if err := s.is(tensor.F32, tensor.BF16, tensor.F16, tensor.U8); err != nil {
		return err
	}
	n := len(w.Shape)
	rows, cols := w.Shape[n-2], w.Shape[n-1]
	if err := w.sized(w.Shape.Rows(), cols); err != nil {
		return err
	}
	at, err := factors(&s, w.Shape, block)
	if err != nil {
		return err
	}
	d := r.plain(s.DType)
	r.add(w.name, d, w.Shape, plainRows(d, cols, func(x []float32, i int) {
		line, first := w.Data[i*cols:(i+1)*cols], at.row(i/rows, i%rows)
		for c := 0; c < cols; c += at.cols {
			f, end := s.value(first+c/at.cols), min(c+at.cols, cols)
			for k, code := range line[c:end] {
				x[c+k] = tensor.E4M3ToF32(code) * f
			}
		}
	}), w, s)
	return nil
}

// A layout says where the factor of a value is: matrices, then blocks of rows,
// then blocks of columns.
type layout struct {
	rows, cols  int // values that share a factor
	high, wide  int // blocks of a matrix
	everyMatrix bool
}

// row returns the position of the first factor of a row.
func (l *layout) row(matrix, row int) int {
	if !l.everyMatrix {
		matrix = 0
	}
	return (matrix*l.high + row/l.rows) * l.wide
}

// factors finds out what a tensor of factors is for, from its shape and the size
// of blocks, if the configuration gives it.
func factors(s *part, shape tensor.Shape, block [2]int) (layout, error) {
	n := len(shape)
	rows, cols := shape[n-2], shape[n-1]
	have := slices.Clone(s.Shape)
	one := layout{rows: rows, cols: cols, high: 1, wide: 1}
	if size, _ := have.Size(); size == 1 {
		return one, nil
	}
	one.everyMatrix = true
	if n > 2 {
		if len(have) < n-2 || !slices.Equal(have[:n-2], shape[:n-2]) {
			return one, s.misshapen(fmt.Sprintf("factors of each of %v matrices", shape[:n-2]))
		}
		have = have[n-2:]
		if size, _ := have.Size(); size == 1 {
			return one, nil
		}
	}
	if len(have) == 1 {
		have = append(have, 1)
	}
	if len(have) != 2 || have[0] < 1 || have[1] < 1 {
		return one, s.misshapen("[rows, columns] of blocks")
	}
	l := layout{high: have[0], wide: have[1], everyMatrix: true}
	var ok [2]bool
	l.rows, ok[0] = share(rows, have[0], block[0])
	l.cols, ok[1] = share(cols, have[1], block[1])
	if !ok[0] || !ok[1] {
		return l, s.misshapen(fmt.Sprintf("one factor for each block of %v of %d by %d values", block, rows, cols))
	}
	return l, nil
}

// share returns how many of n values each of k factors is for.
func share(n, k, block int) (int, bool) {
	switch {
	case k == 1:
		return n, true
	case k == n:
		return 1, true
	case block > 0 && (n+block-1)/block == k:
		return block, true
	}
	return n / k, n%k == 0
}
