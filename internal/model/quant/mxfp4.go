package quant

import (
	"slices"

	"atenia/tensor"
)

const (
	mxValues = 32             // in a block
	mxBytes  = 1 + mxValues/2 // of tensor.MXFP4: the exponent, then the digits
)

// mxfp4 adds the experts of gpt-oss: X_blocks [..., rows, cols/32, 16] with two
// digits in a byte, the first in the low bits, and X_scales [..., rows, cols/32]
// with an exponent for each 32 (OCP Microscaling, MXFP4). The result is named
// X.weight and has outputs as rows, as a linear layer has; the tensor X of an
// unquantized folder is its transpose.
func (r *reader) mxfp4() error {
	return r.each("_blocks", func(base string) error {
		q, err := r.need(base+"_blocks", tensor.U8)
		if err != nil {
			return err
		}
		e, err := r.need(base+"_scales", tensor.U8)
		if err != nil {
			return err
		}
		n := len(q.Shape)
		if n < 3 || q.Shape[n-1] != mxValues/2 {
			return q.misshapen("[..., rows, blocks, 16]")
		}
		if err := e.shaped(q.Shape[:n-1]...); err != nil {
			return err
		}
		shape := slices.Clone(q.Shape[:n-1])
		blocks := shape[n-2]
		if err := q.sized(shape.Rows(), blocks); err != nil {
			return err
		}
		shape[n-2] = blocks * mxValues
		r.add(base+".weight", tensor.MXFP4, shape, mxRows(&q, &e, blocks), q, e)
		return nil
	})
}

// blocksMXFP4 writes blocks of [tensor.MXFP4], 17 bytes each, from digits, 16 bytes for
// each block, and exponents, a byte for each. Digits are the same codes; a block
// has the first half of its values in the low bits, digits have those of even
// position there.
func blocksMXFP4(dst, digits, exponents []byte) {
	for k, e := range exponents {
		b, q := dst[k*mxBytes:(k+1)*mxBytes], digits[k*mxValues/2:(k+1)*mxValues/2]
		b[0] = e
		for i := range mxValues / 4 {
			b[1+2*i] = q[i]&15 | q[i+8]<<4
			b[2+2*i] = q[i]>>4 | q[i+8]&0xf0
		}
	}
}
