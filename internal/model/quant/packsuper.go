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
	t := l.transpose(x, w[:], n)
	if t == nil {
		for r := range runs {
			fitted[r] = l.fit(x[r*n:r*n+n], w[r*n:r*n+n])
		}
	} else {
		for g := range t.groups() {
			x, w := t.group(g)
			*(*lane8)(fitted[g*laneCount:]) = l.fit8(x, w)
		}
	}
	b := centredBlock{d: coverHalf(fitted[peakIndex(fitted[:runs])] / -top)}
	inv := inverse(b.d)
	for r := range runs {
		b.scale[r] = int8(min(max(roundEven(mul(fitted[r], inv)), int32(-top)), int32(top)-1))
	}
	b.improveScales(x, w[:], n, l, top, t)
	b.improveD(x, w[:], n, l, t)
	b.improveScales(x, w[:], n, l, top, t)
	for r := range runs {
		l.digits(b.q[r*n:r*n+n], x[r*n:r*n+n], mul(b.d, float32(b.scale[r])))
	}
	return b
}

// losses writes the error of every run for its integer scale plus step.
func (b *centredBlock) losses(out *[16]float32, x, w []float32, n int, l *ladder, d, step float32, t *runs) {
	if t == nil {
		for r := range 256 / n {
			out[r] = l.loss(x[r*n:r*n+n], w[r*n:r*n+n], mul(d, float32(b.scale[r])+step))
		}
		return
	}
	for g := range t.groups() {
		var scale, none lane8
		for k := range scale {
			scale[k] = mul(d, float32(b.scale[g*laneCount+k])+step)
		}
		x, w := t.group(g)
		fitLoss(x, w, float32(l.lo), float32(l.hi), &scale, &none, (*lane8)(out[g*laneCount:]))
	}
}

// improveScales tries both neighbours of every run's scale.
func (b *centredBlock) improveScales(x, w []float32, n int, l *ladder, top float32, t *runs) {
	var mid, lower, upper [16]float32
	b.losses(&mid, x, w, n, l, b.d, 0, t)
	b.losses(&lower, x, w, n, l, b.d, -1, t)
	b.losses(&upper, x, w, n, l, b.d, 1, t)
	for r := range 256 / n {
		best, at := mid[r], float32(b.scale[r])
		if at-1 >= -top && lower[r] < best {
			best, b.scale[r] = lower[r], int8(at-1)
		}
		if at+1 <= top-1 && upper[r] < best {
			b.scale[r] = int8(at + 1)
		}
	}
}

// improveD replaces d by the best one for the current digits, if that is still
// better after rounding.
func (b *centredBlock) improveD(x, w []float32, n int, l *ladder, t *runs) {
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
	var old, changed [16]float32
	b.losses(&old, x, w, n, l, b.d, 0, t)
	b.losses(&changed, x, w, n, l, d, 0, t)
	for r := range 256 / n {
		before += old[r]
		after += changed[r]
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
	var t runs
	t.fill(x, w[:], n)
	for g := range t.groups() {
		x, w := t.group(g)
		s, o := fitAffine8(x, w, levels, true)
		for k := range s {
			scale[g*laneCount+k], low[g*laneCount+k] = s[k], -o[k]
		}
	}
	all := 256 / n
	b := affineBlock{
		d:  coverHalf(scale[peakIndex(scale[:all])] / float32(top)),
		dm: coverHalf(low[peakIndex(low[:all])] / float32(top)),
	}
	inv, invLow := inverse(b.d), inverse(b.dm)
	for r := range all {
		b.scale[r] = uint8(digit(mul(scale[r], inv), top))
		b.low[r] = uint8(digit(mul(low[r], invLow), top))
	}
	b.improveScales(&t, levels, top)
	b.improveD(x, w[:], &t, levels)
	b.improveScales(&t, levels, top)
	for r := range all {
		s, o := b.of(r)
		inv := inverse(s)
		for i := r * n; i < r*n+n; i++ {
			b.q[i] = uint8(digit(mul(x[i]-o, inv), levels))
		}
	}
	return b
}

// improveScales tries the eight neighbours of every run's scale and minimum.
func (b *affineBlock) improveScales(t *runs, levels, top int32) {
	for g := range t.groups() {
		var s0, l0, best lane8
		for k := range s0 {
			s0[k], l0[k] = float32(b.scale[g*laneCount+k]), float32(b.low[g*laneCount+k])
		}
		b.loss8(t, g, levels, &s0, &l0, &best)
		for step := range 9 {
			if step == 4 {
				continue
			}
			s, l, loss := s0, l0, lane8{}
			for k := range s {
				s[k] += float32(step/3 - 1)
				l[k] += float32(step%3 - 1)
			}
			b.loss8(t, g, levels, &s, &l, &loss)
			for k, e := range loss {
				if e < best[k] && s[k] >= 0 && s[k] <= float32(top) && l[k] >= 0 && l[k] <= float32(top) {
					best[k], b.scale[g*laneCount+k], b.low[g*laneCount+k] = e, uint8(s[k]), uint8(l[k])
				}
			}
		}
	}
}

// loss8 writes the errors of a group of runs for integer scales and minima.
func (b *affineBlock) loss8(t *runs, g int, levels int32, s, l, out *lane8) {
	var scale, offset lane8
	for k := range scale {
		scale[k], offset[k] = mul(b.d, s[k]), -mul(b.dm, l[k])
	}
	x, w := t.group(g)
	fitLoss(x, w, 0, float32(levels), &scale, &offset, out)
}

// improveD replaces d and dm by the best pair for the current digits, if that is
// still better after rounding.
func (b *affineBlock) improveD(x, w []float32, all *runs, levels int32) {
	n := all.n
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
	if t.loss(all, levels) < b.loss(all, levels) {
		b.d, b.dm = t.d, t.dm
	}
}

// loss returns the error of all runs.
func (b *affineBlock) loss(t *runs, levels int32) (sum float32) {
	for g := range t.groups() {
		var s, l, out lane8
		for k := range s {
			s[k], l[k] = float32(b.scale[g*laneCount+k]), float32(b.low[g*laneCount+k])
		}
		b.loss8(t, g, levels, &s, &l, &out)
		for _, e := range out {
			sum += e
		}
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
