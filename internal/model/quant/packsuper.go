package quant

// Writers of the formats with blocks of 256 values and two levels of scales.
// Scales are first fitted to each run separately, then rounded to the block's
// scale, then both levels are improved alternately.

import "encoding/binary"

// A centredBlock is a block whose values are d·scale·level.
type centredBlock struct {
	d     float32 // as stored
	scale [16]int8
	q     [256]uint8
}

// fitCentred fits a block of runs of n values whose integer scales lie in
// -top … top-1.
func fitCentred(x, imp []float32, n int, l *ladder, top float32) centredBlock {
	var w [256]float32
	var fitted [16]float32
	weigh(w[:], x, imp)
	runs := 256 / n
	for r := range runs {
		fitted[r] = l.fit(x[r*n:r*n+n], w[r*n:r*n+n])
	}
	b := centredBlock{d: coverHalf(fitted[peakIndex(fitted[:runs])] / -top)}
	inv := inverse(b.d)
	for r := range runs {
		b.scale[r] = int8(min(max(roundEven(mul(fitted[r], inv)), int32(-top)), int32(top)-1))
	}
	b.improveScales(x, w[:], n, l, top)
	b.improveD(x, w[:], n, l)
	b.improveScales(x, w[:], n, l, top)
	for r := range runs {
		l.digits(b.q[r*n:r*n+n], x[r*n:r*n+n], mul(b.d, float32(b.scale[r])))
	}
	return b
}

// improveScales tries both neighbours of every run's scale.
func (b *centredBlock) improveScales(x, w []float32, n int, l *ladder, top float32) {
	for r := range 256 / n {
		x, w := x[r*n:r*n+n], w[r*n:r*n+n]
		mid := float32(b.scale[r])
		best := l.loss(x, w, mul(b.d, mid))
		for _, s := range [2]float32{mid - 1, mid + 1} {
			if s < -top || s > top-1 {
				continue
			}
			if e := l.loss(x, w, mul(b.d, s)); e < best {
				best, b.scale[r] = e, int8(s)
			}
		}
	}
}

// improveD replaces d by the best one for the current digits, if that is still
// better after rounding.
func (b *centredBlock) improveD(x, w []float32, n int, l *ladder) {
	var xy, yy, before, after float32
	for r := range 256 / n {
		s := float32(b.scale[r])
		inv := inverse(mul(b.d, s))
		for i := r * n; i < r*n+n; i++ {
			y := mul(s, l.level[l.at(mul(x[i], inv))])
			wy := mul(w[i], y)
			xy += mul(wy, x[i])
			yy += mul(wy, y)
		}
	}
	if yy <= 0 {
		return
	}
	d := storedHalf(xy / yy)
	for r := range 256 / n {
		s := float32(b.scale[r])
		x, w := x[r*n:r*n+n], w[r*n:r*n+n]
		before += l.loss(x, w, mul(b.d, s))
		after += l.loss(x, w, mul(d, s))
	}
	if after < before {
		b.d = d
	}
}

func encodeQ3_K(dst []byte, x, imp []float32) {
	b := fitCentred(x, imp, 16, ladder3, 32)
	clear(dst[:32])
	for i, q := range b.q {
		dst[i%32] |= q >> 2 << (i / 32)
	}
	packCrumbs(dst[32:96], &b.q)
	clear(dst[96:108])
	for i, s := range b.scale {
		v := uint8(s + 32)
		dst[96+i%8] |= v & 15 << (i / 8 * 4)
		dst[104+i%4] |= v >> 4 << (i / 4 * 2)
	}
	putHalf(dst[108:], b.d)
}

func encodeQ6_K(dst []byte, x, imp []float32) {
	b := fitCentred(x, imp, 16, ladder6, 128)
	for c := range 2 { // chunks of 128 values
		q, low, high := b.q[128*c:128*c+128], dst[64*c:64*c+64], dst[128+32*c:160+32*c]
		for i := range 32 {
			low[i] = q[i]&15 | q[i+64]<<4
			low[i+32] = q[i+32]&15 | q[i+96]<<4
			high[i] = q[i]>>4 | q[i+32]>>4<<2 | q[i+64]>>4<<4 | q[i+96]>>4<<6
		}
	}
	for i, s := range b.scale {
		dst[192+i] = byte(s)
	}
	putHalf(dst[208:], b.d)
}

func encodeIQ4_XS(dst []byte, x, imp []float32) {
	b := fitCentred(x, imp, 32, ladderIQ4, 32)
	putHalf(dst, b.d)
	clear(dst[4:8])
	var high uint16
	for i, s := range b.scale[:8] {
		v := uint8(s + 32)
		dst[4+i/2] |= v & 15 << (i % 2 * 4)
		high |= uint16(v>>4) << (2 * i)
		packNibbles(dst[8+16*i:], (*[32]uint8)(b.q[32*i:]))
	}
	binary.LittleEndian.PutUint16(dst[2:], high)
}

// An affineBlock is a block whose values are d·scale·q - dm·low.
type affineBlock struct {
	d, dm      float32 // as stored
	scale, low [16]uint8
	q          [256]uint8
}

// of returns scale and offset of a run.
func (b *affineBlock) of(r int) (scale, offset float32) {
	return mul(b.d, float32(b.scale[r])), -mul(b.dm, float32(b.low[r]))
}

// fitLow fits a block of runs of n values with digits 0 … levels and integer
// scales and minima 0 … top.
func fitLow(x, imp []float32, n int, levels, top int32) affineBlock {
	var w [256]float32
	var scale, low [16]float32
	weigh(w[:], x, imp)
	runs := 256 / n
	for r := range runs {
		s, o := fitAffine(x[r*n:r*n+n], w[r*n:r*n+n], levels, true)
		scale[r], low[r] = s, -o
	}
	b := affineBlock{
		d:  coverHalf(scale[peakIndex(scale[:runs])] / float32(top)),
		dm: coverHalf(low[peakIndex(low[:runs])] / float32(top)),
	}
	inv, invLow := inverse(b.d), inverse(b.dm)
	for r := range runs {
		b.scale[r] = uint8(digit(mul(scale[r], inv), top))
		b.low[r] = uint8(digit(mul(low[r], invLow), top))
	}
	b.improveScales(x, w[:], n, levels, top)
	b.improveD(x, w[:], n, levels)
	b.improveScales(x, w[:], n, levels, top)
	for r := range runs {
		s, o := b.of(r)
		inv := inverse(s)
		for i := r * n; i < r*n+n; i++ {
			b.q[i] = uint8(digit(mul(x[i]-o, inv), levels))
		}
	}
	return b
}

// improveScales tries the eight neighbours of every run's scale and minimum.
func (b *affineBlock) improveScales(x, w []float32, n int, levels, top int32) {
	for r := range 256 / n {
		x, w := x[r*n:r*n+n], w[r*n:r*n+n]
		s0, l0 := float32(b.scale[r]), float32(b.low[r])
		best := affineLoss(x, w, levels, mul(b.d, s0), -mul(b.dm, l0))
		for k := range 9 {
			s, l := s0+float32(k/3-1), l0+float32(k%3-1)
			if k == 4 || s < 0 || s > float32(top) || l < 0 || l > float32(top) {
				continue
			}
			if e := affineLoss(x, w, levels, mul(b.d, s), -mul(b.dm, l)); e < best {
				best, b.scale[r], b.low[r] = e, uint8(s), uint8(l)
			}
		}
	}
}

// improveD replaces d and dm by the best pair for the current digits, if that is
// still better after rounding.
func (b *affineBlock) improveD(x, w []float32, n int, levels int32) {
	var saa, sab, sbb, sxa, sxb float32 // a = scale·q, b = -low
	for r := range 256 / n {
		s, o := b.of(r)
		inv, low := inverse(s), -float32(b.low[r])
		for i := r * n; i < r*n+n; i++ {
			a := mul(float32(b.scale[r]), digit(mul(x[i]-o, inv), levels))
			wa, wb := mul(w[i], a), mul(w[i], low)
			saa += mul(wa, a)
			sab += mul(wa, low)
			sbb += mul(wb, low)
			sxa += mul(wa, x[i])
			sxb += mul(wb, x[i])
		}
	}
	t := affineBlock{d: b.d, dm: b.dm, scale: b.scale, low: b.low}
	switch det := mul(saa, sbb) - mul(sab, sab); {
	case det > 0:
		t.d = storedHalf((mul(sbb, sxa) - mul(sab, sxb)) / det)
		t.dm = storedHalf((mul(saa, sxb) - mul(sab, sxa)) / det)
	case saa > 0 && sbb == 0:
		t.d = storedHalf(sxa / saa)
	}
	if t.d <= 0 || t.dm < 0 {
		return
	}
	if t.loss(x, w, n, levels) < b.loss(x, w, n, levels) {
		b.d, b.dm = t.d, t.dm
	}
}

func (b *affineBlock) loss(x, w []float32, n int, levels int32) (sum float32) {
	for r := range 256 / n {
		s, o := b.of(r)
		sum += affineLoss(x[r*n:r*n+n], w[r*n:r*n+n], levels, s, o)
	}
	return sum
}

func encodeQ2_K(dst []byte, x, imp []float32) {
	b := fitLow(x, imp, 16, 3, 15)
	for i := range b.scale {
		dst[i] = b.scale[i] | b.low[i]<<4
	}
	packCrumbs(dst[16:80], &b.q)
	putHalf(dst[80:], b.d)
	putHalf(dst[82:], b.dm)
}

// packScalesQ4 is the inverse of scalesQ4.
func packScalesQ4(p []byte, s, m []uint8) {
	for i := range 4 {
		p[i] = s[i] | s[4+i]>>4<<6
		p[4+i] = m[i] | m[4+i]>>4<<6
		p[8+i] = s[4+i]&15 | m[4+i]<<4
	}
}

func encodeQ4_K(dst []byte, x, imp []float32) {
	b := fitLow(x, imp, 32, 15, 63)
	putHalf(dst, b.d)
	putHalf(dst[2:], b.dm)
	packScalesQ4(dst[4:16], b.scale[:8], b.low[:8])
	packNibbles64(dst[16:144], &b.q)
}

// packNibbles64 stores 256 digits in chunks of 64, the second half of each in
// the upper four bits.
func packNibbles64(dst []byte, q *[256]uint8) {
	for c := range 4 {
		for i := range 32 {
			dst[32*c+i] = q[64*c+i]&15 | q[64*c+32+i]<<4
		}
	}
}

func encodeQ5_K(dst []byte, x, imp []float32) {
	b := fitLow(x, imp, 32, 31, 63)
	putHalf(dst, b.d)
	putHalf(dst[2:], b.dm)
	packScalesQ4(dst[4:16], b.scale[:8], b.low[:8])
	clear(dst[16:48])
	for i, q := range b.q {
		dst[16+i%32] |= q >> 4 << (i / 32)
	}
	packNibbles64(dst[48:176], &b.q)
}
