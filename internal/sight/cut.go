package sight

import (
	"fmt"
	"math"
	"slices"
)

// A PicturePiece is the patches of one picture, of a tile of it, or of a video.
type PicturePiece struct {
	Grid   [3]int    // frames, rows and columns of patches
	Values []float32 // [patches, channels·temporal·patch²], by square blocks that become a token
	// Row and Col number a tile from 1; 0 is a whole picture.
	Row, Col int
}

// Cut resizes a picture, and cuts it into tiles if the recipe says so, or shows its
// parts after it.
func (r *Recipe) Cut(p *Picture) ([]PicturePiece, error) {
	w, h, err := r.size(p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	if r.Kind == Tiles && r.large(p.Width, p.Height) {
		return r.tiles(p, w, h), nil
	}
	out := []PicturePiece{r.patches([]*Picture{r.resize(p, w, h)})}
	if r.Kind == Square && r.Scan.On {
		for i, part := range r.Scan.parts(p) {
			x := r.patches([]*Picture{r.resize(part, w, h)})
			x.Row, x.Col = 1, i+1
			if p.Height > p.Width {
				x.Row, x.Col = i+1, 1
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// resize resamples as the processors of the kind do: those of tiles with torchvision
// alone.
func (r *Recipe) resize(p *Picture, w, h int) *Picture {
	if r.Kind == Tiles {
		return p.ResizeShort(w, h, r.Filter)
	}
	return p.Resize(w, h, r.Filter)
}

// parts cuts a picture along its longer side (transformers, gemma3, pan_and_scan).
func (s *Scan) parts(p *Picture) (out []*Picture) {
	long, short := max(p.Width, p.Height), min(p.Width, p.Height)
	ratio := float64(long) / float64(short)
	if ratio < s.Ratio {
		return nil
	}
	n := min(max(2, min(long/max(s.Least, 1), int(math.Floor(ratio+0.5)))), s.Most)
	if n < 1 {
		return nil
	}
	side := (long + n - 1) / n
	if min(side, short) < s.Least {
		return nil
	}
	for at := 0; at < long; at += side {
		size := min(side, long-at) // the last may be shorter
		if p.Width >= p.Height {
			out = append(out, p.crop(at, 0, size, p.Height))
		} else {
			out = append(out, p.crop(0, at, p.Width, size))
		}
	}
	return out
}

// size returns the pixels that a picture is resized to.
func (r *Recipe) size(w, h int) (int, int, error) {
	unit := r.Patch * r.Merge
	switch r.Kind {
	case Square:
		return r.Width, r.Height, nil
	case Tiles:
		w, h = smart(w, h, 1, 1, unit, unit, r.MinTokens*unit*unit, r.MaxTokens*unit*unit)
		return w, h, nil
	case Longest:
		return r.longest(w, h), r.longest(h, w), nil
	}
	if err := slender(w, h); err != nil {
		return 0, 0, err
	}
	w, h = smart(w, h, 1, 1, unit, 0, r.MinPixels, r.MaxPixels)
	return w, h, nil
}

// slender refuses sides that differ too much.
func slender(w, h int) error {
	if max(w, h) > 200*min(w, h) {
		return &pictureError{What: "image", Field: "size", Want: "sides whose ratio is at most 200", Got: fmt.Sprintf("%d×%d", w, h), Remedy: "cut it first"}
	}
	return nil
}

// longest returns a side such that neither side exceeds the limit, rounded up to
// whole patches (transformers, pixtral, get_resize_output_image_size).
func (r *Recipe) longest(side, other int) int {
	unit := r.Patch * r.Merge
	if ratio := max(float64(side)/float64(r.Width), float64(other)/float64(r.Width)); ratio > 1 {
		side = int(math.Floor(float64(side) / ratio))
	}
	return max(1, (side-1)/unit+1) * unit
}

// smart returns sides that are multiples of unit, with about the same ratio, and
// an area within bounds: that of n frames together, which round to so many of whole
// groups (transformers, smart_resize of qwen2_vl, with one frame, and of qwen3_vl).
// Halves are rounded to even, as Python does. A side that rounds to 0 counts as
// side: to the processor of lfm2_vl it is a unit, to those of qwen the area is then
// too small.
func smart(w, h, n, frames, unit, side, least, most int) (int, int) {
	u, counted := float64(unit), float64(frames)
	round := func(x int) int { return max(side, int(math.RoundToEven(float64(x)/u))*unit) }
	bw, bh := round(w), round(h)
	switch volume := float64(n) * float64(w) * float64(h); {
	case counted*float64(bw)*float64(bh) > float64(most):
		beta := math.Sqrt(volume / float64(most))
		down := func(x int) int { return max(unit, int(math.Floor(float64(x)/beta/u))*unit) }
		bw, bh = down(w), down(h)
	case counted*float64(bw)*float64(bh) < float64(least):
		beta := math.Sqrt(float64(least) / volume)
		up := func(x int) int { return int(math.Ceil(float64(x)*beta/u)) * unit }
		bw, bh = up(w), up(h)
	}
	return max(bw, unit), max(bh, unit)
}

// large reports whether a picture has more pixels than one piece holds.
func (r *Recipe) large(w, h int) bool {
	if r.MaxTiles <= 1 {
		return false
	}
	unit := r.Patch * r.Merge
	round := func(x int) int { return max(r.Patch, int(math.RoundToEven(float64(x)/float64(unit)))*unit) }
	return float64(round(w)*round(h)) > float64(r.MaxTokens*unit*unit)*r.Tolerance
}

// tiles cuts a picture into the grid whose ratio is closest to its own. The
// thumbnail, of w×h pixels, comes last.
func (r *Recipe) tiles(p *Picture, w, h int) (out []PicturePiece) {
	cols, rows := r.grid(p.Width, p.Height)
	all := r.resize(p, cols*r.Tile, rows*r.Tile)
	for y := range rows {
		for x := range cols {
			t := r.patches([]*Picture{all.crop(x*r.Tile, y*r.Tile, r.Tile, r.Tile)})
			t.Row, t.Col = y+1, x+1
			out = append(out, t)
		}
	}
	if r.Thumbnail && cols*rows != 1 {
		out = append(out, r.patches([]*Picture{r.resize(p, w, h)}))
	}
	return out
}

// grid returns the columns and rows of tiles (transformers, lfm2_vl,
// find_closest_aspect_ratio): of equally good ones the first, or a later one
// whose area the picture fills by more than half.
func (r *Recipe) grid(w, h int) (cols, rows int) {
	var all [][2]int
	for c := 1; c <= r.MaxTiles; c++ {
		for n := 1; n*c <= r.MaxTiles; n++ {
			if n*c >= r.MinTiles {
				all = append(all, [2]int{c, n})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b [2]int) int { return a[0]*a[1] - b[0]*b[1] })
	best, diff := [2]int{1, 1}, math.Inf(1)
	ratio := float64(w) / float64(h)
	for _, g := range all {
		d := math.Abs(ratio - float64(g[0])/float64(g[1]))
		switch {
		case d < diff:
			best, diff = g, d
		case d == diff && float64(w)*float64(h) > 0.5*float64(r.Tile*r.Tile*g[0]*g[1]):
			best = g
		}
	}
	return best[0], best[1]
}

// patches lists the patches of frames of one size: those of Temporal frames, or
// of one picture repeated, together; in each the channels, the frames, the rows.
func (r *Recipe) patches(frames []*Picture) PicturePiece {
	n := r.Patch
	w, h := frames[0].Width/n, frames[0].Height/n
	groups := (len(frames) + r.Temporal - 1) / r.Temporal
	p := PicturePiece{Grid: [3]int{groups, h, w}, Values: make([]float32, 0, groups*h*w*3*r.Temporal*n*n)}
	table := r.table()
	for g := range groups {
		for by := 0; by < h; by += r.Merge {
			for bx := 0; bx < w; bx += r.Merge {
				for k := range r.Merge * r.Merge {
					y, x := (by+k/r.Merge)*n, (bx+k%r.Merge)*n
					for c := range 3 {
						for f := range r.Temporal {
							m := frames[min(g*r.Temporal+f, len(frames)-1)]
							for py := range n {
								at := 3*((y+py)*m.Width+x) + c
								for px := range n {
									p.Values = append(p.Values, table[c][m.Pix[at+3*px]])
								}
							}
						}
					}
				}
			}
		}
	}
	return p
}

// table returns the normalized value of each 8-bit value of each channel.
func (r *Recipe) table() (t [3][256]float32) {
	for c := range t {
		for v := range t[c] {
			t[c][v] = float32((float64(v)*r.Rescale - float64(r.Mean[c])) / float64(r.Std[c]))
		}
	}
	return t
}
