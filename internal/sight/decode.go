package sight

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	_ "image/jpeg" // formats that Decode reads
	_ "image/png"

	_ "golang.org/x/image/webp"
)

// A Picture is an image of 8-bit RGB pixels.
type Picture struct {
	Width, Height int
	Pix           []byte // [Height, Width, 3]
}

// maxPixels bounds the pixels of a file, of all frames of an animation together.
// Above it lie decompression bombs: a file of a few kilobytes can claim billions.
const maxPixels = 100_000_000

// Decoding takes up to 11 bytes a pixel. So that a file of a few kilobytes stays below
// 64 MiB, only longer files may have more than fewPixels: so many more for each byte.
// Drawings compress better than photographs, whose pixels are 4 to 16 to a byte.
const (
	fewPixels     = 4 << 20
	pixelsPerByte = 32
)

// mostPixels is what a file of so many bytes may have.
func mostPixels(size int) int { return min(maxPixels, fewPixels+min(size, maxPixels)*pixelsPerByte) }

// maxSide bounds one side.
const maxSide = 1 << 16

// An pictureError says why bytes are not an image that can be read.
type pictureError struct {
	What   string // what was read: "image", "preprocessor_config.json"
	Field  string
	Want   string
	Got    string
	Remedy string
	Err    error
}

func (e *pictureError) Error() string {
	s := e.What
	if e.Field != "" {
		s += ": " + e.Field
	}
	s += ": want " + e.Want
	if e.Got != "" {
		s += ", got " + e.Got
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Unwrap returns the cause.
func (e *pictureError) Unwrap() error { return e.Err }

const formats = "a PNG, JPEG, GIF or WebP file"

// Decode reads a PNG, JPEG, GIF or WebP file: the first frame of an animation.
// Transparency is ignored, as image processors do, and the orientation that a
// camera noted is applied.
func Decode(data []byte) (*Picture, error) {
	if err := bounded(data); err != nil {
		return nil, err
	}
	m, kind, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, &pictureError{What: "image", Want: formats, Err: err}
	}
	p := fromImage(m)
	if kind == "jpeg" {
		p = p.oriented(orientation(data))
	}
	return p, nil
}

// bounded checks the size that a file claims before any pixel is decoded.
func bounded(data []byte) error {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return &pictureError{What: "image", Want: formats, Err: err}
	}
	most := mostPixels(len(data))
	if c.Width < 1 || c.Height < 1 || c.Width > maxSide || c.Height > maxSide || c.Width*c.Height > most {
		return &pictureError{What: "image", Field: "size", Want: fmt.Sprintf("at most %d pixels in a file of %d bytes and sides of 1 to %d", most, len(data), maxSide),
			Got: fmt.Sprintf("%d×%d", c.Width, c.Height), Remedy: "scale it down first"}
	}
	return nil
}

// DecodeVideo reads frames of an animated GIF as viewers show them; of other files
// the one image. choose is told the number of frames, their size, and how long they
// are shown altogether, 0 if the file does not say; it returns the numbers of those
// that are wanted, ascending.
func DecodeVideo(data []byte, choose func(n, w, h int, seconds float64) ([]int, error)) (frames []*Picture, err error) {
	if _, kind, err := image.DecodeConfig(bytes.NewReader(data)); err != nil || kind != "gif" {
		p, err := Decode(data)
		if err == nil {
			_, err = choose(1, p.Width, p.Height, 0)
		}
		return []*Picture{p}, err
	}
	if err := bounded(data); err != nil {
		return nil, err
	}
	if n, w, h := gifSize(data); n*w*h > mostPixels(len(data)) {
		return nil, &pictureError{What: "animation", Field: "size", Want: fmt.Sprintf("at most %d pixels in all frames", mostPixels(len(data))),
			Got: fmt.Sprintf("%d frames of %d×%d", n, w, h), Remedy: "scale it down or cut it first"}
	}
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		return nil, &pictureError{What: "animation", Want: formats, Err: err}
	}
	hundredths := 0
	for _, d := range g.Delay {
		hundredths += d
	}
	take, err := choose(len(g.Image), g.Config.Width, g.Config.Height, float64(hundredths)/100)
	if err != nil {
		return nil, err
	}
	canvas := image.NewNRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for i, f := range g.Image {
		if len(take) == 0 {
			break
		}
		before := canvas
		if i < len(g.Disposal) && g.Disposal[i] == gif.DisposalPrevious {
			before = image.NewNRGBA(canvas.Rect)
			copy(before.Pix, canvas.Pix)
		}
		draw.Draw(canvas, f.Bounds(), f, f.Bounds().Min, draw.Over)
		if take[0] == i {
			frames = append(frames, fromImage(canvas))
			for take = take[1:]; len(take) > 0 && take[0] == i; take = take[1:] {
				frames = append(frames, frames[len(frames)-1])
			}
		}
		switch {
		case i >= len(g.Disposal):
		case g.Disposal[i] == gif.DisposalBackground:
			draw.Draw(canvas, f.Bounds(), image.Transparent, image.Point{}, draw.Src)
		case g.Disposal[i] == gif.DisposalPrevious:
			canvas = before
		}
	}
	return frames, nil
}

// gifSize counts the frames of a GIF without decoding them: their descriptors
// follow the blocks of the one before (GIF89a, appendix B).
func gifSize(data []byte) (frames, w, h int) {
	if len(data) < 13 {
		return 0, 0, 0
	}
	w, h = int(data[6])|int(data[7])<<8, int(data[8])|int(data[9])<<8
	at := 13
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	blocks := func() {
		for at < len(data) && data[at] != 0 {
			at += 1 + int(data[at])
		}
		at++
	}
	at += table(data[10])
	for at+1 < len(data) {
		switch data[at] {
		case 0x21: // extension
			at += 2
			blocks()
		case 0x2c: // image
			if at+10 > len(data) {
				return frames, w, h
			}
			frames++
			flags := data[at+9]
			at += 10 + table(flags) + 1
			blocks()
		default:
			return frames, w, h
		}
	}
	return frames, w, h
}

// fromImage copies the colours of an image, without what its transparency mixes
// them with.
func fromImage(m image.Image) *Picture {
	b := m.Bounds()
	p := &Picture{Width: b.Dx(), Height: b.Dy(), Pix: make([]byte, 3*b.Dx()*b.Dy())}
	at := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			var r, g, bl uint8
			switch m := m.(type) {
			case *image.YCbCr:
				c := m.YCbCrAt(x, y)
				r, g, bl = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			case *image.NRGBA:
				i := m.PixOffset(x, y)
				r, g, bl = m.Pix[i], m.Pix[i+1], m.Pix[i+2]
			default:
				c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				r, g, bl = c.R, c.G, c.B
			}
			p.Pix[at], p.Pix[at+1], p.Pix[at+2] = r, g, bl
			at += 3
		}
	}
	return p
}
