package quant

// The ternary formats: every value is -d, 0 or d (TQ2_0 can also represent 2d).

func decodeTQ1_0(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[54:] {
		d := half(src[52:])
		at := 0
		for _, run := range tq1Runs {
			pow := byte(1)
			for range run.trits {
				for _, b := range src[run.from:run.to] {
					// b holds a fraction in base 3; multiplying by a power of three modulo 256
					// moves the wanted digit to the front.
					dst[at] = d * float32(int32(uint16(b*pow)*3>>8)-1)
					at++
				}
				pow *= 3
			}
		}
	}
}

// tq1Runs gives the order of the 52 bytes of a TQ1_0 block: a run of bytes for
// each trit in turn.
var tq1Runs = [3]struct{ from, to, trits int }{{0, 32, 5}, {32, 48, 5}, {48, 52, 4}}

func decodeTQ2_0(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[66:] {
		d := half(src[64:])
		for s := range 8 {
			out := dst[32*s : 32*s+32]
			for i, b := range src[s/4*32:][:32] {
				out[i] = d * float32(int32(b>>(s%4*2)&3)-1)
			}
		}
	}
}

// ternary rounds x to multiples of its largest magnitude, as digits 0, 1, 2.
func ternary(x []float32) (d float32, q [256]uint8) {
	d = max(x[peakIndex(x)], -x[peakIndex(x)])
	inv := inverse(d)
	for i, v := range x {
		q[i] = uint8(roundAway(mul(v, inv)) + 1)
	}
	return d, q
}

func encodeTQ1_0(dst []byte, x, _ []float32) {
	d, q := ternary(x)
	at := 0
	for _, run := range tq1Runs {
		n := run.to - run.from
		for i := range n {
			sum, pow := 0, 81
			for t := range run.trits {
				sum += pow * int(q[at+t*n+i])
				pow /= 3
			}
			dst[run.from+i] = byte((sum*256 + 242) / 243) // the fraction, rounded up
		}
		at += n * run.trits
	}
	putHalf(dst[52:], d)
}

func encodeTQ2_0(dst []byte, x, _ []float32) {
	d, q := ternary(x)
	packCrumbs(dst[:64], &q)
	putHalf(dst[64:], d)
}

// packCrumbs stores the low two bits of 256 digits, four to a byte: bytes of
// the first half hold digits i, i+32, i+64 and i+96.
func packCrumbs(dst []byte, q *[256]uint8) {
	for i := range 32 {
		for c := range 2 {
			v := q[128*c+i:]
			dst[32*c+i] = v[0]&3 | v[32]&3<<2 | v[64]&3<<4 | v[96]&3<<6
		}
	}
}
