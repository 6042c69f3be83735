package media

import (
	"crypto/md5"
	"encoding/binary"
	"hash"
	"io"
)

// flacBlock is the number of samples per channel in a frame, as in the
// reference encoder.
const flacBlock = 4096

// A flacSink encodes FLAC with fixed predictors of order 0 to 4, Rice codes in
// up to 64 partitions, and the cheapest of the four stereo modes.
type flacSink struct {
	w        io.Writer
	f        Format
	hash     hash.Hash
	data     [][]int64 // [channels][flacBlock] of the next frame
	n        int       // of data
	frames   int64     // samples written per channel
	number   uint64    // of the next frame
	min, max int       // bytes of a frame
	out      []byte
	raw      []byte
	side     [2][]int64 // mid and difference of two channels
	tries    [2][]uint64
}

func writeFLAC(w io.Writer, f Format) (*flacSink, error) {
	s := &flacSink{w: w, f: f, hash: md5.New(), data: make([][]int64, f.Channels)}
	for c := range s.data {
		s.data[c] = make([]int64, flacBlock)
	}
	for i := range s.side {
		s.side[i], s.tries[i] = make([]int64, flacBlock), make([]uint64, flacBlock)
	}
	_, err := w.Write(s.header(false))
	return s, err
}

// header returns the mark and STREAMINFO, as the only metadata.
func (s *flacSink) header(known bool) []byte {
	be := binary.BigEndian
	b := append([]byte("fLaC"), 0x80, 0, 0, 34)
	b = be.AppendUint16(be.AppendUint16(b, flacBlock), flacBlock)
	var frames uint64
	sum := make([]byte, md5.Size)
	low, high := 0, 0
	if known {
		frames, sum, low, high = uint64(s.frames), s.hash.Sum(nil), s.min, s.max
	}
	if frames >= 1<<36 {
		frames = 0 // unknown
	}
	b = append(b, byte(low>>16), byte(low>>8), byte(low), byte(high>>16), byte(high>>8), byte(high))
	b = be.AppendUint64(b, uint64(s.f.Rate)<<44|uint64(s.f.Channels-1)<<41|uint64(s.f.Bits-1)<<36|frames)
	return append(b, sum...)
}

func (s *flacSink) write(src [][]float64) (clipped int64, err error) {
	for i := range src[0] {
		for c := range src {
			v, ok := quantise(src[c][i], s.f.Bits)
			if !ok {
				clipped++
			}
			s.data[c][s.n] = v
		}
		if s.n++; s.n == flacBlock {
			if err := s.flush(); err != nil {
				return clipped, err
			}
		}
	}
	return clipped, nil
}

func (s *flacSink) finish() error {
	if s.n == 0 {
		return nil
	}
	return s.flush()
}

func (s *flacSink) patch(at io.WriterAt) error {
	_, err := at.WriteAt(s.header(true), 0)
	return err
}

// flush writes a frame.
func (s *flacSink) flush() error {
	n := s.n
	s.raw = interleave(s.raw[:0], s.data, n, s.f.Bits)
	s.hash.Write(s.raw)
	w := bitWriter{b: s.out[:0]}
	rows, kind := s.stereo(n)
	s.frameHeader(&w, n, kind)
	for c, x := range rows {
		depth := s.f.Bits
		if kind == sideRight && c == 0 || (kind == leftSide || kind == midSide) && c == 1 {
			depth++
		}
		s.subframe(&w, x[:n], depth)
	}
	w.align()
	var crc uint16
	for _, v := range w.b {
		crc = crc<<8 ^ crc16Table[byte(crc>>8)^v]
	}
	s.out = binary.BigEndian.AppendUint16(w.b, crc)
	if s.min == 0 || len(s.out) < s.min {
		s.min = len(s.out)
	}
	s.max = max(s.max, len(s.out))
	s.number++
	s.frames += int64(n)
	s.n = 0
	_, err := s.w.Write(s.out)
	return err
}

// stereo chooses the stereo mode by the sum of the residuals of a second-order
// predictor, as the reference encoder estimates it.
func (s *flacSink) stereo(n int) (rows [][]int64, kind int) {
	if len(s.data) != 2 {
		return s.data, len(s.data) - 1
	}
	l, r, mid, side := s.data[0], s.data[1], s.side[0], s.side[1]
	for i := range n {
		mid[i], side[i] = (l[i]+r[i])>>1, l[i]-r[i]
	}
	cl, cr, cm, cs := roughness(l[:n]), roughness(r[:n]), roughness(mid[:n]), roughness(side[:n])
	rows, kind = s.data, 1
	best := cl + cr
	for _, t := range []struct {
		cost uint64
		kind int
		a, b []int64
	}{{cl + cs, leftSide, l, side}, {cs + cr, sideRight, side, r}, {cm + cs, midSide, mid, side}} {
		if t.cost < best {
			best, kind, rows = t.cost, t.kind, [][]int64{t.a, t.b}
		}
	}
	return rows, kind
}

func roughness(x []int64) (sum uint64) {
	for i := 2; i < len(x); i++ {
		d := x[i] - 2*x[i-1] + x[i-2]
		sum += uint64(max(d, -d))
	}
	return sum
}

// frameHeader writes a frame's header (RFC 9639, section 9.1).
func (s *flacSink) frameHeader(w *bitWriter, n, kind int) {
	w.put(0x7FFC, 15)
	w.put(0, 1) // blocks of one size
	if n == flacBlock {
		w.put(12, 4)
	} else {
		w.put(7, 4)
	}
	rates := map[int]uint64{88200: 1, 176400: 2, 192000: 3, 8000: 4, 16000: 5, 22050: 6, 24000: 7, 32000: 8, 44100: 9, 48000: 10, 96000: 11}
	w.put(rates[s.f.Rate], 4) // 0: as the stream says
	w.put(uint64(kind), 4)
	w.put(map[int]uint64{8: 1, 16: 4, 24: 6}[s.f.Bits], 3)
	w.put(0, 1)
	w.number(s.number)
	if n != flacBlock {
		w.put(uint64(n-1), 16)
	}
	var crc uint8
	for _, v := range w.b {
		crc = crc8Table[crc^v]
	}
	w.put(uint64(crc), 8)
}

// subframe writes a channel in the cheapest form.
func (s *flacSink) subframe(w *bitWriter, x []int64, depth int) {
	same := true
	for _, v := range x {
		same = same && v == x[0]
	}
	if same {
		w.put(0, 8)
		w.signed(x[0], depth)
		return
	}
	best := coding{cost: len(x) * depth, order: -1}
	e := s.tries[0][:len(x)]
	for order := 0; order < min(5, len(x)); order++ {
		residuals(e, x, order)
		if p := partition(e, order); p.cost+order*depth < best.cost {
			best = p
			best.cost += order * depth
			s.tries[0], s.tries[1] = s.tries[1], s.tries[0] // keep e
			e = s.tries[0][:len(x)]
		}
	}
	if best.order < 0 {
		w.put(1<<1, 8)
		for _, v := range x {
			w.signed(v, depth)
		}
		return
	}
	e = s.tries[1][:len(x)]
	w.put(uint64(8+best.order)<<1, 8)
	for _, v := range x[:best.order] {
		w.signed(v, depth)
	}
	best.write(w, e)
}

// residuals maps the residuals of a fixed predictor to unsigned numbers
// (zigzag): 0, -1, 1, -2, … become 0, 1, 2, 3, …
func residuals(e []uint64, x []int64, order int) {
	for i := order; i < len(x); i++ {
		d := x[i]
		for j, c := range fixed[order] {
			d -= c * x[i-1-j]
		}
		e[i] = uint64(d<<1) ^ uint64(d>>63)
	}
}

// maxPartitions is the binary logarithm of the largest number of partitions
// tried.
const maxPartitions = 6

// A coding is the Rice coding of a channel's residuals.
type coding struct {
	order int
	parts int // a power of two, as its exponent
	rice  [1 << maxPartitions]uint8
	wide  bool // a parameter needs more than four bits
	cost  int  // bits
}

// partition finds the cheapest number of partitions and their parameters.
func partition(e []uint64, order int) coding {
	best := coding{order: order, cost: 1 << 62}
	for parts := 0; parts <= maxPartitions; parts++ {
		size := len(e) >> parts
		if size<<parts != len(e) || size <= order {
			break
		}
		p := coding{order: order, parts: parts, cost: 6}
		for i := range 1 << parts {
			part := e[max(order, i*size) : (i+1)*size]
			k, cost := rice(part)
			p.rice[i] = k
			p.wide = p.wide || k > 14
			p.cost += cost + 5
		}
		if p.cost < best.cost {
			best = p
		}
	}
	return best
}

// rice returns the parameter with the shortest codes, and their length in bits.
// It is one of three around the logarithm of the mean.
func rice(e []uint64) (k uint8, cost int) {
	var sum uint64
	for _, v := range e {
		sum += v
	}
	var guess uint8
	for guess < 29 && uint64(len(e))<<(guess+1) <= sum {
		guess++
	}
	cost = 1 << 62
	for t := max(guess, 1) - 1; t <= guess+1; t++ {
		c := len(e) * (1 + int(t))
		for _, v := range e {
			c += int(v >> t)
		}
		if c < cost {
			k, cost = t, c
		}
	}
	return k, cost
}

// write writes the coded residuals.
func (p *coding) write(w *bitWriter, e []uint64) {
	width := 4
	if p.wide {
		width = 5
	}
	w.put(uint64(width-4), 2)
	w.put(uint64(p.parts), 4)
	size := len(e) >> p.parts
	for i := range 1 << p.parts {
		k := int(p.rice[i])
		w.put(uint64(k), width)
		for _, v := range e[max(p.order, i*size) : (i+1)*size] {
			for q := v >> k; q > 0; {
				z := min(q, 32)
				w.put(0, int(z))
				q -= z
			}
			w.put(1<<k|v&(1<<k-1), k+1)
		}
	}
}

// A bitWriter appends bits, most significant first.
type bitWriter struct {
	b   []byte
	acc uint64
	n   int // bits of acc that are not written
}

// put appends the low k bits of v, at most 32; the others are 0.
func (w *bitWriter) put(v uint64, k int) {
	w.acc = w.acc<<k | v
	for w.n += k; w.n >= 8; {
		w.n -= 8
		w.b = append(w.b, byte(w.acc>>w.n))
	}
}

func (w *bitWriter) signed(v int64, k int) { w.put(uint64(v)&(1<<k-1), k) }

func (w *bitWriter) align() {
	if w.n > 0 {
		w.put(0, 8-w.n)
	}
}

// number writes a frame's number like UTF-8 of up to 36 bits.
func (w *bitWriter) number(v uint64) {
	if v < 0x80 {
		w.put(v, 8)
		return
	}
	k := 1 // bytes that follow
	for k < 6 && v>>(6*k) >= 1<<(6-k) {
		k++
	}
	w.put(uint64(0xFF<<(7-k))&0xFF|v>>(6*k), 8)
	for k--; k >= 0; k-- {
		w.put(0x80|v>>(6*k)&0x3F, 8)
	}
}
