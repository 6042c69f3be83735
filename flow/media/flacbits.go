package media

import "fmt"

// bits reads a FLAC bit stream, most significant bit first. The first error
// sticks; after it all bits are 0.
type bits struct {
	in    *input
	acc   uint64 // its low n bits have been read and not consumed
	n     int    // less than 8 between calls
	crc8  uint8  // of the bytes read since a frame started
	crc16 uint16
	err   error
}

// The checksums of frames: x^8+x^2+x+1 and x^16+x^15+x^2+1 (RFC 9639,
// sections 9.1.8 and 9.3).
var crc8Table, crc16Table = crcTables()

func crcTables() (t8 [256]uint8, t16 [256]uint16) {
	for i := range 256 {
		a, b := uint8(i), uint16(i)<<8
		for range 8 {
			if a&0x80 != 0 {
				a = a<<1 ^ 0x07
			} else {
				a <<= 1
			}
			if b&0x8000 != 0 {
				b = b<<1 ^ 0x8005
			} else {
				b <<= 1
			}
		}
		t8[i], t16[i] = a, b
	}
	return t8, t16
}

func (b *bits) fault(format string, args ...any) error {
	return &Error{Codec: FLAC, Offset: b.in.at, Text: fmt.Sprintf(format, args...)}
}

// fill reads one byte.
func (b *bits) fill() bool {
	v, err := b.in.r.ReadByte()
	if err != nil {
		b.err = b.in.fault("a frame", err)
		b.acc, b.n = 0, 0
		return false
	}
	b.in.at++
	b.crc8 = crc8Table[b.crc8^v]
	b.crc16 = b.crc16<<8 ^ crc16Table[byte(b.crc16>>8)^v]
	b.acc = b.acc<<8 | uint64(v)
	b.n += 8
	return true
}

// take returns the next k bits, at most 56.
func (b *bits) take(k int) uint64 {
	for b.n < k {
		if b.err != nil || !b.fill() {
			return 0
		}
	}
	b.n -= k
	return b.acc >> b.n & (1<<k - 1)
}

// signed returns a number of k bits in two's complement.
func (b *bits) signed(k int) int64 {
	if k == 0 {
		return 0
	}
	return int64(b.take(k)<<(64-k)) >> (64 - k)
}

// unary returns the number of zeros before the next one.
func (b *bits) unary() uint64 {
	var k uint64
	for b.take(1) == 0 {
		if b.err != nil {
			return 0
		}
		k++
		for b.n == 0 && b.fill() && b.acc&0xFF == 0 {
			k, b.n = k+8, 0
		}
	}
	return k
}

// align skips the rest of a byte.
func (b *bits) align() { b.n -= b.n % 8 }

// number skips a frame's number, which is coded like UTF-8 with up to 36 bits.
func (b *bits) number() {
	first := b.take(8)
	k := 0
	for m := uint64(0x80); first&m != 0 && m > 1; m >>= 1 {
		k++
	}
	if k == 1 || k > 7 || first == 0xFF {
		if b.err == nil {
			b.err = b.fault("a frame's number starts with %#x", first)
		}
		return
	}
	for i := 1; i < k; i++ {
		if c := b.take(8); c>>6 != 2 && b.err == nil {
			b.err = b.fault("a frame's number goes on with %#x", c)
		}
	}
}

// fixed holds the coefficients of the fixed predictors (section 4.3).
var fixed = [5][]int64{{}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}}

// subframe decodes the samples of a channel (section 9.2).
func (b *bits) subframe(x []int64, depth int) error {
	zero, kind, wasted := b.take(1), int(b.take(6)), 0
	if b.take(1) == 1 {
		wasted = int(min(b.unary(), 64)) + 1
	}
	depth -= wasted
	switch {
	case b.err != nil:
		return b.err
	case zero != 0 || kind >= 2 && kind < 8 || kind > 12 && kind < 32:
		return b.fault("a subframe of a reserved kind, %d", kind)
	case depth < 1:
		return b.fault("%d bits of a sample are wasted: none is left", wasted)
	}
	var err error
	switch {
	case kind == 0:
		v := b.signed(depth)
		for i := range x {
			x[i] = v
		}
	case kind == 1:
		for i := range x {
			x[i] = b.signed(depth)
		}
	case kind < 32:
		err = b.predicted(x, depth, fixed[kind-8], 0)
	default:
		err = b.linear(x, depth, kind-31)
	}
	if wasted > 0 {
		for i := range x {
			x[i] <<= wasted
		}
	}
	if b.err != nil {
		return b.err
	}
	return err
}

// linear decodes samples with a predictor from the file (section 9.2.6).
func (b *bits) linear(x []int64, depth, order int) error {
	if order > len(x) {
		return b.fault("a predictor of order %d for %d samples", order, len(x))
	}
	for i := range order {
		x[i] = b.signed(depth)
	}
	precision, shift := int(b.take(4))+1, b.signed(5)
	if b.err == nil && (precision == 16 || shift < 0) {
		return b.fault("a predictor of precision %d, shifted by %d", precision, shift)
	}
	var coefficients [32]int64
	for i := range order {
		coefficients[i] = b.signed(precision)
	}
	return b.residual(x, coefficients[:order], int(shift))
}

// predicted decodes samples with a given predictor (section 9.2.5).
func (b *bits) predicted(x []int64, depth int, coefficients []int64, shift int) error {
	if len(coefficients) > len(x) {
		return b.fault("a predictor of order %d for %d samples", len(coefficients), len(x))
	}
	for i := range coefficients {
		x[i] = b.signed(depth)
	}
	return b.residual(x, coefficients, shift)
}

// residual decodes the prediction residuals, which are Rice coded (section
// 9.2.7), and adds the predictions.
func (b *bits) residual(x []int64, coefficients []int64, shift int) error {
	order := len(coefficients)
	method, parts := b.take(2), 1<<b.take(4)
	if b.err == nil && (method > 1 || len(x)%parts != 0 || len(x)/parts < order) {
		return b.fault("%d partitions by method %d for %d samples of order %d", parts, method, len(x), order)
	}
	width := 4 + int(method)
	at := order
	for p := range parts {
		k := int(b.take(width))
		end := (p + 1) * (len(x) / parts)
		if k == 1<<width-1 {
			k = int(b.take(5))
			for ; at < end && b.err == nil; at++ {
				x[at] = b.signed(k)
			}
			continue
		}
		for ; at < end && b.err == nil; at++ {
			u := b.unary()<<k | b.take(k)
			x[at] = int64(u>>1) ^ -int64(u&1)
		}
	}
	if b.err != nil {
		return b.err
	}
	for i := order; i < len(x); i++ {
		var sum int64
		for j, c := range coefficients {
			sum += c * x[i-1-j]
		}
		x[i] += sum >> shift
	}
	return nil
}
