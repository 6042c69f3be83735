package sight

import "math"

// A Filter is a kernel for resampling.
type Filter uint8

// The filters, numbered as in Pillow and in preprocessor_config.json.
const (
	Lanczos  Filter = 1
	Bilinear Filter = 2
	Bicubic  Filter = 3
)

// support is the radius of the kernel at the original scale.
func (f Filter) support() float64 {
	switch f {
	case Lanczos:
		return 3
	case Bilinear:
		return 1
	}
	return 2
}

func (f Filter) at(x float64) float64 {
	x = math.Abs(x)
	switch f {
	case Lanczos:
		if x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	case Bilinear:
		return max(0, 1-x)
	}
	const a = -0.5
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return (((x-5)*x+8)*x - 4) * a
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// fixedBits is the precision of weights: 8 bits of a pixel and 2 of overshoot
// leave 22 of 32 (Pillow, src/libImaging/Resample.c).
const fixedBits = 32 - 8 - 2

// A window is the input pixels that an output pixel reads, with fixed-point
// weights.
type window struct {
	first   int
	weights []int32
}

// A scale is how one side is resized: a window for each pixel, whose weights have so
// many bits after the point.
type scale struct {
	windows []window
	bits    uint
}

// newScale returns the windows of n pixels made of from. When scaling down, the
// kernel is as wide as an output pixel, which is antialiasing. Short weights have 16
// bits, as those of PyTorch (aten/src/ATen/native/cpu/UpSampleKernel.cpp).
func newScale(from, n int, f Filter, short bool) scale {
	step := float64(from) / float64(n)
	wide := max(step, 1)
	support, inv := f.support()*wide, 1/wide
	out := make([]window, n)
	all := make([][]float64, n)
	most := 0.0
	for i := range out {
		center := (float64(i) + 0.5) * step
		lo := max(int(center-support+0.5), 0)
		hi := min(int(center+support+0.5), from)
		k := make([]float64, 0, hi-lo)
		sum := 0.0
		for x := lo; x < hi; x++ {
			v := f.at((float64(x) - center + 0.5) * inv)
			k = append(k, v)
			sum += v
		}
		for j := range k {
			if sum != 0 {
				k[j] /= sum
			}
			most = max(most, k[j])
		}
		out[i], all[i] = window{first: lo, weights: make([]int32, len(k))}, k
	}
	bits := uint(fixedBits)
	if short { // as many as leave the largest weight below 2¹⁵
		for bits = 0; bits < fixedBits && int32(0.5+most*float64(int32(1)<<(bits+1))) < 1<<15; bits++ {
		}
	}
	for i := range out {
		for j, v := range all[i] {
			out[i].weights[j] = fixed(v, bits)
		}
	}
	return scale{out, bits}
}

func fixed(v float64, bits uint) int32 {
	if v < 0 {
		return int32(-0.5 + v*float64(int32(1)<<bits))
	}
	return int32(0.5 + v*float64(int32(1)<<bits))
}

// pixel rounds a fixed-point sum, which begins with half, to a pixel.
func (s *scale) pixel(v int32) byte { return byte(min(max(v>>s.bits, 0), 255)) }

func (s *scale) half() int32 { return 1 << s.bits >> 1 }

// Resize returns the picture with other dimensions, equal to Pillow's
// Image.resize bit for bit: rows are made narrower or wider first, rounded to
// 8 bits, then columns; columns first if that drops more than twice as many lines
// as the other would, which is when Pillow 13 does so.
func (p *Picture) Resize(w, h int, f Filter) *Picture {
	if h < p.Height && p.Height-h > 2*(p.Width-w) {
		p = p.tall(h, f, false)
	}
	return p.wide(w, f, false).tall(h, f, false)
}

// ResizeShort does the same as torchvision, bit for bit: rows always first, with
// weights of 16 bits.
func (p *Picture) ResizeShort(w, h int, f Filter) *Picture {
	return p.wide(w, f, true).tall(h, f, true)
}

// wide and tall resize one side.
func (p *Picture) wide(w int, f Filter, short bool) *Picture {
	if w == p.Width {
		return p
	}
	return p.resizeRows(newScale(p.Width, w, f, short))
}

func (p *Picture) tall(h int, f Filter, short bool) *Picture {
	if h == p.Height {
		return p
	}
	return p.resizeColumns(newScale(p.Height, h, f, short))
}

func (p *Picture) resizeRows(s scale) *Picture {
	ws, half := s.windows, s.half()
	q := &Picture{Width: len(ws), Height: p.Height, Pix: make([]byte, 3*len(ws)*p.Height)}
	for y := range p.Height {
		src, dst := p.Pix[3*y*p.Width:3*(y+1)*p.Width], q.Pix[3*y*q.Width:]
		for x := range ws {
			w := &ws[x]
			r, g, b := half, half, half
			at := 3 * w.first
			for _, k := range w.weights {
				r += int32(src[at]) * k
				g += int32(src[at+1]) * k
				b += int32(src[at+2]) * k
				at += 3
			}
			dst[3*x], dst[3*x+1], dst[3*x+2] = s.pixel(r), s.pixel(g), s.pixel(b)
		}
	}
	return q
}

func (p *Picture) resizeColumns(s scale) *Picture {
	ws, half := s.windows, s.half()
	row := 3 * p.Width
	q := &Picture{Width: p.Width, Height: len(ws), Pix: make([]byte, row*len(ws))}
	sums := make([]int32, row)
	for y := range ws {
		w := &ws[y]
		for i := range sums {
			sums[i] = half
		}
		for j, k := range w.weights {
			src := p.Pix[(w.first+j)*row : (w.first+j+1)*row]
			for i, v := range src {
				sums[i] += int32(v) * k
			}
		}
		dst := q.Pix[y*row : (y+1)*row]
		for i, v := range sums {
			dst[i] = s.pixel(v)
		}
	}
	return q
}

// crop returns a part of the picture.
func (p *Picture) crop(x, y, w, h int) *Picture {
	q := &Picture{Width: w, Height: h, Pix: make([]byte, 0, 3*w*h)}
	for r := range h {
		at := 3 * ((y+r)*p.Width + x)
		q.Pix = append(q.Pix, p.Pix[at:at+3*w]...)
	}
	return q
}
