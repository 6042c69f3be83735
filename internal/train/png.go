package train

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
)

// The sizes of the picture in points; it is drawn at twice the size and scaled
// down, which smooths edges.
const (
	width, height = 960, 540
	left, right   = 64, 24
	top, bottom   = 24, 48
	fine          = 2
)

// The colours of a sheet; those from first on are the lines'.
const (
	paper = iota
	ink
	grid
	pale
	first
)

var colors = [...]color.RGBA{
	paper: {255, 255, 255, 255}, ink: {60, 60, 60, 255}, grid: {228, 228, 228, 255}, pale: {180, 206, 235, 255},
	first: {31, 97, 168, 255}, {214, 84, 30, 255},
}

// A sheet is the canvas: an index of colors for each pixel.
type sheet struct {
	pixels [height * fine][width * fine]uint8
	x, y   span
}

// PlotPNG plots lines. The first is drawn as pale points with its running mean; the
// points of the others are joined.
func PlotPNG(w io.Writer, lines []PlotLine) error {
	s := new(sheet)
	var ok bool
	if s.x, s.y, ok = spans(lines); ok {
		s.axes()
		for i, l := range lines {
			c := uint8(first + i%(len(colors)-first))
			if i == 0 && len(l.Points) > 50 {
				s.line(l.Points, pale, 1)
				s.line(smooth(l.Points), c, 2)
			} else {
				s.line(l.Points, c, 2)
			}
			s.legend(i, l.Name, c)
		}
	}
	return png.Encode(w, s.halved())
}

// smooth returns the running mean over a fiftieth of the points.
func smooth(ps []PlotPoint) []PlotPoint {
	out := make([]PlotPoint, 0, len(ps))
	keep := 1 - 1/max(1, float64(len(ps))/50)
	mean, weight := 0.0, 0.0
	for _, p := range ps {
		if !finite(p) {
			continue
		}
		mean, weight = keep*mean+(1-keep)*p.Y, keep*weight+(1-keep)
		out = append(out, PlotPoint{p.X, mean / weight})
	}
	return out
}

func (s *sheet) fill(x0, y0, x1, y1 int, c uint8) {
	for y := max(0, y0); y < min(y1, len(s.pixels)); y++ {
		for x := max(0, x0); x < min(x1, len(s.pixels[y])); x++ {
			s.pixels[y][x] = c
		}
	}
}

// place returns the pixel of a point.
func (s *sheet) place(p PlotPoint) (x, y float64) {
	x = fine * (left + s.x.at(p.X)*(width-left-right))
	y = fine * (top + (1-min(1, s.y.at(p.Y)))*(height-top-bottom))
	return x, y
}

func (s *sheet) axes() {
	for _, v := range s.y.ticks(6) {
		_, y := s.place(PlotPoint{s.x.lo, v})
		s.fill(fine*left, int(y), fine*(width-right), int(y)+1, grid)
		text := label(v)
		s.text(text, left-8-6*len(text), int(y)/fine-3, ink)
	}
	for _, v := range s.x.ticks(8) {
		x, _ := s.place(PlotPoint{v, s.y.lo})
		s.fill(int(x), fine*top, int(x)+1, fine*(height-bottom), grid)
		text := label(v)
		s.text(text, int(x)/fine-3*len(text), height-bottom+8, ink)
	}
	s.fill(fine*left, fine*top, fine*left+fine, fine*(height-bottom), ink)
	s.fill(fine*left, fine*(height-bottom), fine*(width-right), fine*(height-bottom)+fine, ink)
	s.text("loss", 8, 8, ink)
	s.text("step", width-right-24, height-20, ink)
}

func (s *sheet) legend(i int, name string, c uint8) {
	x, y := width-right-120, top+8+16*i
	s.fill(fine*x, fine*(y+2), fine*(x+20), fine*(y+5), c)
	s.text(name, x+28, y, ink)
}

// line joins points by overlapping dots.
func (s *sheet) line(ps []PlotPoint, c uint8, thick float64) {
	drawn := false
	var x0, y0 float64
	for _, p := range ps {
		if !finite(p) {
			continue
		}
		x, y := s.place(p)
		if !drawn {
			x0, y0 = x, y
		}
		n := max(1, math.Ceil(math.Hypot(x-x0, y-y0)))
		for k := 0.0; k <= n; k++ {
			s.dot(x0+(x-x0)*k/n, y0+(y-y0)*k/n, thick*fine/2, c)
		}
		x0, y0, drawn = x, y, true
	}
}

func (s *sheet) dot(x, y, r float64, c uint8) {
	s.fill(int(math.Round(x-r)), int(math.Round(y-r)), int(math.Round(x+r)), int(math.Round(y+r)), c)
}

// text draws letters of 5 × 7 points, 6 apart.
func (s *sheet) text(t string, x, y int, c uint8) {
	for _, r := range t {
		for col, bits := range letters[r] {
			for row := range 7 {
				if bits>>row&1 == 1 {
					s.fill(fine*(x+col), fine*(y+row), fine*(x+col+1), fine*(y+row+1), c)
				}
			}
		}
		x += 6
	}
}

// halved scales down by two, averaging four pixels. Four of six colours are a
// palette of at most 126: a byte for each pixel is quick to compress.
func (s *sheet) halved() image.Image {
	out := image.NewPaletted(image.Rect(0, 0, width, height), nil)
	var mixed [len(colors) * len(colors) * len(colors) * len(colors)]int // by the four, 1 + the index in the palette
	for y := range height {
		for x := range width {
			key := 0
			for k := range fine * fine {
				key = key*len(colors) + int(s.pixels[fine*y+k/fine][fine*x+k%fine])
			}
			if mixed[key] == 0 {
				mixed[key] = 1 + mix(&out.Palette, key)
			}
			out.Pix[y*out.Stride+x] = uint8(mixed[key] - 1)
		}
	}
	return out
}

// mix returns the index of the mean of the colours that are key's digits, which
// it adds to the palette if it is new.
func mix(p *color.Palette, key int) int {
	var sum [3]int
	for range fine * fine {
		c := colors[key%len(colors)]
		sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
		key /= len(colors)
	}
	const n = fine * fine
	c := color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}
	i := slices.Index(*p, color.Color(c))
	if i < 0 {
		i = len(*p)
		*p = append(*p, c)
	}
	return i
}

// letters holds the glyphs in use, by column, the top in the lowest bit.
var letters = map[rune][5]byte{
	'0': {0x3e, 0x51, 0x49, 0x45, 0x3e}, '1': {0x00, 0x42, 0x7f, 0x40, 0x00}, '2': {0x42, 0x61, 0x51, 0x49, 0x46},
	'3': {0x21, 0x41, 0x45, 0x4b, 0x31}, '4': {0x18, 0x14, 0x12, 0x7f, 0x10}, '5': {0x27, 0x45, 0x45, 0x45, 0x39},
	'6': {0x3c, 0x4a, 0x49, 0x49, 0x30}, '7': {0x01, 0x71, 0x09, 0x05, 0x03}, '8': {0x36, 0x49, 0x49, 0x49, 0x36},
	'9': {0x06, 0x49, 0x49, 0x29, 0x1e}, '.': {0x00, 0x60, 0x60, 0x00, 0x00}, '-': {0x08, 0x08, 0x08, 0x08, 0x08},
	'a': {0x20, 0x54, 0x54, 0x54, 0x78}, 'd': {0x38, 0x44, 0x44, 0x48, 0x7f}, 'e': {0x38, 0x54, 0x54, 0x54, 0x18},
	'h': {0x7f, 0x08, 0x04, 0x04, 0x78}, 'i': {0x00, 0x44, 0x7d, 0x40, 0x00}, 'k': {0x7f, 0x10, 0x28, 0x44, 0x00},
	'l': {0x00, 0x41, 0x7f, 0x40, 0x00}, 'n': {0x7c, 0x08, 0x04, 0x04, 0x78}, 'o': {0x38, 0x44, 0x44, 0x44, 0x38},
	'p': {0x7c, 0x14, 0x14, 0x14, 0x08}, 'r': {0x7c, 0x08, 0x04, 0x04, 0x08}, 's': {0x48, 0x54, 0x54, 0x54, 0x20},
	't': {0x04, 0x3f, 0x44, 0x40, 0x20}, 'u': {0x3c, 0x40, 0x40, 0x20, 0x7c}, 'M': {0x7f, 0x02, 0x0c, 0x02, 0x7f},
}
