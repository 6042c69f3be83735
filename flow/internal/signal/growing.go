package signal

// This file holds convolution by partitions that grow along the response.

import (
	"math"
	"slices"

	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// Partitions of a level are grow times as long as those of the level before it, and at most longest.
const (
	grow    = 8
	longest = 4096
)

// A span is the taps of one level: parts partitions of part taps from tap first on.
type span struct{ first, part, parts int }

func (s span) bins() int { return s.part + 1 }

// spans divides length taps into levels, the first with partitions of part taps (W. G. Gardner, Efficient convolution
// without input-output delay, 1995). The first level has no delay, as its own first partition is direct. Every other one
// begins at twice its partition, so that the products of a block, which are needed when the block after the next one
// begins, can be spread over a whole block:
//
//	level      taps                    computed
//	0          0 … 2P₁                 at the end of a block of P₀
//	1          2P₁ … 2P₂               in P₁/P₀ steps while the next block of P₁ comes in
//	2          2P₂ … length            in P₂/P₀ steps
func spans(length, part int) (levels []span) {
	first := 0
	for {
		next := part * grow
		end := length
		if next <= longest && length > 2*next {
			end = 2 * next
		}
		levels = append(levels, span{first, part, max(1, (end-first+part-1)/part)})
		if end == length {
			return levels
		}
		first, part = end, next
	}
}

// A grown is a row of taps in the form of its spans: what a [response] is for partitions of one size.
type grown[F node.Float] struct {
	taps   []F
	head   *response[F]
	levels []spectra[F] // of the other spans
}

// spectra are those of the partitions of a span, [parts, bins]; minus is -im.
type spectra[F node.Float] struct{ re, im, minus []F }

func newGrown[F node.Float](length int, levels []span, shared *spectrometer[F]) *grown[F] {
	z := sizes{min(length, levels[0].part*levels[0].parts), levels[0].part, levels[0].parts}
	g := &grown[F]{taps: make([]F, length), head: newResponse(z, shared)}
	for _, s := range levels[1:] {
		n := s.parts * s.bins()
		g.levels = append(g.levels, spectra[F]{make([]F, n), make([]F, n), make([]F, n)})
	}
	return g
}

// set stores taps and computes their spectra in levels that have the plans.
func (g *grown[F]) set(taps []F, levels []*stretch[F]) {
	copy(g.taps, taps)
	g.head.set(taps[:g.head.length])
	for i, l := range levels {
		for j := range l.parts {
			x := l.x
			clear(x)
			copy(x[:l.part], taps[min(len(taps), l.first+j*l.part):])
			l.plan.Forward(g.levels[i].re[j*l.bins():], g.levels[i].im[j*l.bins():], x)
		}
		for k, v := range g.levels[i].im {
			g.levels[i].minus[k] = -v
		}
	}
}

// A plane is rows of frames: row r begins at element r/share*stride.
type plane[F node.Float] struct {
	data          []F
	stride, share int
}

// row returns n frames of row r from frame i on.
func (p plane[F]) row(r, i, n int) []F { return p.data[r/p.share*p.stride+i:][:n] }

// A growing is the convolution of rows of frames with their responses. Blocks and steps are aligned to the stream, so
// results do not depend on how it is cut. Nothing in it stores a pointer after it is made, as real time demands.
type growing[F node.Float] struct {
	part, largest int // frames of the first level's and of the last level's blocks
	head          []*partitioned[F]
	levels        []*stretch[F]
	at            int // frames in the open block of the last level

	kept int   // closed blocks of the last level that the state consists of
	past [][]F // [rows][kept+1, largest] a ring of them and the open one
	slot int   // of the open one
}

func newGrowing[F node.Float](levels []span, responses []*grown[F], rows, channels int) *growing[F] {
	last := levels[len(levels)-1]
	g := &growing[F]{part: levels[0].part, largest: last.part, kept: last.parts + 2}
	of := func(r int) *grown[F] { return responses[r%channels%len(responses)] }
	for r := range rows {
		g.head = append(g.head, newPartitioned(of(r).head))
		g.past = append(g.past, make([]F, (g.kept+1)*g.largest))
	}
	for i, s := range levels[1:] {
		l := newLevel[F](s, g.part, rows)
		for r := range rows {
			l.of = append(l.of, &of(r).levels[i])
		}
		g.levels = append(g.levels, l)
	}
	return g
}

// reset empties the convolution. Its next frame is frame at of a block of the last level.
func (g *growing[F]) reset(at int) {
	for r, h := range g.head {
		h.reset()
		clear(g.past[r])
	}
	for _, l := range g.levels {
		l.reset()
	}
	g.at, g.slot = at, 0
}

// run writes n frames of every row.
func (g *growing[F]) run(out, in plane[F], n int) {
	for i := 0; i < n; {
		at := g.at % g.part
		k := min(g.part-at, n-i)
		for r, h := range g.head {
			x, y := in.row(r, i, k), out.row(r, i, k)
			copy(g.past[r][g.slot*g.largest+g.at:], x)
			h.run(y, x, at)
			for _, l := range g.levels {
				o := g.at % l.part
				copy(l.rows[r].blocks[l.now][l.part+o:], x)
				dsp.Add(y, y, l.rows[r].results[l.now][o:o+k])
			}
		}
		i, g.at = i+k, g.at+k
		if at+k == g.part {
			for _, l := range g.levels {
				l.step(g.at % l.part / g.part)
			}
		}
		if g.at == g.largest {
			g.at, g.slot = 0, (g.slot+1)%(g.kept+1)
		}
	}
}

// save writes the closed blocks of row r, oldest first, and the open one: [kept+1, largest].
func (g *growing[F]) save(dst []F, r int) {
	for j := range g.kept + 1 {
		from := (g.slot + 1 + j) % (g.kept + 1) * g.largest
		copy(dst[j*g.largest:], g.past[r][from:][:g.largest])
	}
	clear(dst[g.kept*g.largest+g.at:])
}

// load runs the frames that save wrote for each row again, of which at are in the open block. It leaves the bits of
// the convolution that was saved, since older frames have no influence. waste takes a block of output.
func (g *growing[F]) load(src []F, at int, waste []F) {
	g.reset(0)
	for j := range g.kept + 1 {
		n := g.largest
		if j == g.kept {
			n = at
		}
		g.run(plane[F]{waste, 0, 1}, plane[F]{src[j*g.largest:], (g.kept + 1) * g.largest, 1}, n)
	}
}

// A stretch is the part of a convolution that belongs to a span. Its work for a block, of all rows, is a list of tasks:
// for each row a transform, parts products, and an inverse.
type stretch[F node.Float] struct {
	span
	plan   *dsp.RealFFT[F]
	of     []*spectra[F] // of each row
	rows   []levelRow[F]
	newest int   // index into the rings
	now    int   // 0 or 1: the block that fills and the results that are given out; the others are computed
	ends   []int // for each step the tasks done after it
	x      []F   // [2 part] scratch
}

// A levelRow is the state of a level in one row.
type levelRow[F node.Float] struct {
	blocks       [2][]F // [2 part] a block after the one before it
	results      [2][]F // [part]
	re, im       []F    // [parts, bins] ring of spectra of blocks
	sumRe, sumIm []F    // [bins]
}

func newLevel[F node.Float](s span, step, rows int) *stretch[F] {
	l := &stretch[F]{span: s, plan: dsp.NewRealFFT[F](2 * s.part), x: make([]F, 2*s.part), rows: make([]levelRow[F], rows)}
	for r := range l.rows {
		v := func(n int) []F { return make([]F, n) }
		l.rows[r] = levelRow[F]{blocks: [2][]F{v(2 * s.part), v(2 * s.part)}, results: [2][]F{v(s.part), v(s.part)},
			re: v(s.parts * s.bins()), im: v(s.parts * s.bins()), sumRe: v(s.bins()), sumIm: v(s.bins())}
	}
	l.ends = schedule(rows, s, s.part/step)
	return l
}

// schedule spreads the tasks of a block over steps so that each has about the same share of the work. The cost of a
// transform, in products, is that of one core measured at 1024 to 8192 frames.
func schedule(rows int, s span, steps int) []int {
	transform := 1.5 * math.Log2(float64(2*s.part))
	var done []float64 // work after each task
	sum := 0.0
	for range rows {
		for k := range s.parts + 2 {
			if cost := 1.0; k == 0 || k == s.parts+1 {
				sum += transform
			} else {
				sum += cost
			}
			done = append(done, sum)
		}
	}
	ends := make([]int, steps)
	for i := range ends {
		share := sum * float64(i+1) / float64(steps)
		ends[i], _ = slices.BinarySearch(done, share+transform/2)
	}
	ends[steps-1] = len(done)
	return ends
}

func (l *stretch[F]) reset() {
	for r := range l.rows {
		v := &l.rows[r]
		for _, b := range [...][]F{v.blocks[0], v.blocks[1], v.results[0], v.results[1], v.re, v.im, v.sumRe, v.sumIm} {
			clear(b)
		}
	}
	l.newest, l.now = 0, 0
}

// step does a share of the work. Step 0 begins when a block is complete: the results of the block before it are then
// given out, and the tasks for it begin.
func (l *stretch[F]) step(i int) {
	from := 0
	if i == 0 {
		l.newest, l.now = (l.newest+1)%l.parts, 1-l.now
		for r := range l.rows {
			b := &l.rows[r].blocks
			copy(b[l.now], b[1-l.now][l.part:])
		}
	} else {
		from = l.ends[i-1]
	}
	for t := from; t < l.ends[i]; t++ {
		l.task(t/(l.parts+2), t%(l.parts+2))
	}
}

// task does task k of row r.
func (l *stretch[F]) task(r, k int) {
	v, n := &l.rows[r], l.bins()
	switch k {
	case 0:
		l.plan.Forward(v.re[l.newest*n:], v.im[l.newest*n:], v.blocks[1-l.now])
		clear(v.sumRe)
		clear(v.sumIm)
	case l.parts + 1:
		l.plan.Inverse(l.x, v.sumRe, v.sumIm)
		copy(v.results[1-l.now], l.x[l.part:])
	default:
		j := k - 1
		at := (l.newest - j + l.parts) % l.parts * n
		xr, xi := v.re[at:][:n], v.im[at:][:n]
		h := l.of[r]
		hr, hi, minus := h.re[j*n:][:n], h.im[j*n:][:n], h.minus[j*n:][:n]
		dsp.AddMul(v.sumRe, hr, xr)
		dsp.AddMul(v.sumRe, minus, xi)
		dsp.AddMul(v.sumIm, hr, xi)
		dsp.AddMul(v.sumIm, hi, xr)
	}
}
