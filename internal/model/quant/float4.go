package quant

import (
	"atenia/tensor"
)

// e2m1Values has the values of 4-bit floats (OCP E2M1).
var e2m1Values = [16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

// nvfp4 adds a matrix of 4-bit floats [rows, cols/2], the first of two in the low
// bits, with an 8-bit factor for every 16: w = (s/global)·v, or (s·global)·v.
func (r *reader) nvfp4(name string, q, s, global part, divide bool) error {
	if err := s.is(tensor.F8E4M3); err != nil {
		return err
	}
	if err := global.is(tensor.F32); err != nil {
		return err
	}
	if size, _ := global.Shape.Size(); size != 1 {
		return global.misshapen("[1]")
	}
	const group = 16
	if len(q.Shape) != 2 || q.sized(q.Shape[0], q.Shape[1]) != nil {
		return q.misshapen("a matrix of two values in a byte")
	}
	rows, cols := q.Shape[0], 2*q.Shape[1]
	wide := (cols + group - 1) / group
	if err := s.shaped(rows, wide); err != nil {
		return err
	}
	d := r.dtype
	r.add(name, d, tensor.Shape{rows, cols}, plainRows(d, cols, func(x []float32, row int) {
		line, all := q.Data[row*cols/2:(row+1)*cols/2], global.value(0)
		for g := range wide {
			f := s.value(row*wide + g)
			if divide {
				f /= all
			} else {
				f *= all
			}
			for c := g * group; c < min((g+1)*group, cols); c++ {
				x[c] = f * e2m1Values[line[c/2]>>(c%2*4)&15]
			}
		}
	}), q, s, global)
	return nil
}

// mxfp4Matrix adds a matrix [rows, cols/2] with an exponent for every 32 values.
func (r *reader) mxfp4Matrix(name string, q, e part) error {
	if err := e.is(tensor.U8); err != nil {
		return err
	}
	if len(q.Shape) != 2 || q.sized(q.Shape[0], q.Shape[1]) != nil || q.Shape[1]%(mxValues/2) != 0 {
		return q.misshapen("rows of whole blocks, 16 bytes each")
	}
	blocks := q.Shape[1] / (mxValues / 2)
	if err := e.shaped(q.Shape[0], blocks); err != nil {
		return err
	}
	r.add(name, tensor.MXFP4, tensor.Shape{q.Shape[0], blocks * mxValues}, mxRows(&q, &e, blocks), q, e)
	return nil
}

// mxRows makes rows of MXFP4 of so many blocks.
func mxRows(q, e *part, blocks int) func([]byte, int, int) {
	return func(dst []byte, lo, hi int) {
		blocksMXFP4(dst, q.Data[lo*blocks*mxValues/2:hi*blocks*mxValues/2], e.Data[lo*blocks:hi*blocks])
	}
}
