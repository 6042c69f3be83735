package sight

import (
	"encoding/json"
	"fmt"
	"math"
)

// A Kind is how a model takes the sizes of images.
type Kind string

// The kinds.
const (
	Area    Kind = "area"    // any size whose sides are whole tokens, within an area
	Square  Kind = "square"  // one fixed size
	Tiles   Kind = "tiles"   // as Area; larger images also as tiles, with the whole as a thumbnail
	Longest Kind = "longest" // any size within a longest side, whole tokens
)

// A Recipe says how a model wants its images.
type Recipe struct {
	Kind                   Kind
	Patch, Temporal, Merge int
	MinPixels, MaxPixels   int // Area
	Width, Height          int // Square; Longest: the longest side
	Mean, Std              [3]float32
	Rescale                float64 // multiplies 8-bit values
	Filter                 Filter

	MinTokens, MaxTokens int // Tiles: of an image that is not cut
	MinTiles, MaxTiles   int
	Tile                 int // pixels of a tile's side
	Tolerance            float64
	Thumbnail            bool

	Scan Scan // Square
}

// A Scan shows parts of images that are much longer than wide, or wider than long,
// after the whole ("pan and scan" of Gemma 3). The zero value shows none.
type Scan struct {
	On    bool
	Least int     // pixels of the side of a part
	Most  int     // parts
	Ratio float64 // of the sides, from which on parts are shown
}

// maxConfig bounds a configuration.
const maxConfig = 1 << 20

// Read changes the recipe by what a preprocessor_config.json says. Keys that it
// does not have keep the values of the recipe.
func (r *Recipe) Read(data []byte) error { return r.read(data, true) }

// read is Read; outer says that data may be the settings of all processors. Those within
// have no others within, so that every byte is parsed twice at most.
func (r *Recipe) read(data []byte, outer bool) error {
	if len(data) > maxConfig {
		return &pictureError{What: "preprocessor_config.json", Want: fmt.Sprintf("at most %d bytes", maxConfig), Got: fmt.Sprint(len(data))}
	}
	var c struct {
		Inner *json.RawMessage `json:"image_processor"` // of a processor_config.json

		Size        json.RawMessage `json:"size"`
		Mean        []float32       `json:"image_mean"`
		Std         []float32       `json:"image_std"`
		Rescale     *float64        `json:"rescale_factor"`
		Resample    *int            `json:"resample"`
		DoRescale   *bool           `json:"do_rescale"`
		DoNormalize *bool           `json:"do_normalize"`
		MinPix      *int            `json:"min_pixels"`
		MaxPix      *int            `json:"max_pixels"`
		MinTokens   *int            `json:"min_image_tokens"`
		MaxTokens   *int            `json:"max_image_tokens"`
		MinTiles    *int            `json:"min_tiles"`
		MaxTiles    *int            `json:"max_tiles"`
		Tile        *int            `json:"tile_size"`
		Tolerance   *float64        `json:"max_pixels_tolerance"`
		Thumbnail   *bool           `json:"use_thumbnail"`
		Split       *bool           `json:"do_image_splitting"`
		Scan        *bool           `json:"do_pan_and_scan"`
		ScanLeast   *int            `json:"pan_and_scan_min_crop_size"`
		ScanMost    *int            `json:"pan_and_scan_max_num_crops"`
		ScanRatio   *float64        `json:"pan_and_scan_min_ratio_to_activate"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return &pictureError{What: "preprocessor_config.json", Want: "the settings of an image processor", Err: err}
	}
	if outer && c.Inner != nil {
		return r.read(*c.Inner, false)
	}
	if err := r.readSize(c.Size); err != nil {
		return err
	}
	for _, x := range []struct {
		to   *int
		from *int
	}{{&r.MinPixels, c.MinPix}, {&r.MaxPixels, c.MaxPix}, {&r.MinTokens, c.MinTokens}, {&r.MaxTokens, c.MaxTokens},
		{&r.MinTiles, c.MinTiles}, {&r.MaxTiles, c.MaxTiles}, {&r.Tile, c.Tile}, {&r.Scan.Least, c.ScanLeast}, {&r.Scan.Most, c.ScanMost}} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	for _, x := range []struct {
		to   *[3]float32
		from []float32
	}{{&r.Mean, c.Mean}, {&r.Std, c.Std}} {
		switch len(x.from) {
		case 3:
			copy(x.to[:], x.from)
		case 1:
			*x.to = [3]float32{x.from[0], x.from[0], x.from[0]}
		}
	}
	if c.Rescale != nil {
		r.Rescale = *c.Rescale
	}
	if c.Scan != nil {
		r.Scan.On = *c.Scan
	}
	if c.ScanRatio != nil {
		r.Scan.Ratio = *c.ScanRatio
	}
	if c.Tolerance != nil {
		r.Tolerance = *c.Tolerance
	}
	if c.Thumbnail != nil {
		r.Thumbnail = *c.Thumbnail
	}
	if c.Split != nil && !*c.Split {
		r.MinTiles, r.MaxTiles = 1, 1
	}
	if c.Resample != nil {
		r.Filter = Filter(min(max(*c.Resample, 0), 255))
	}
	if c.DoRescale != nil && !*c.DoRescale {
		r.Rescale = 1
	}
	if c.DoNormalize != nil && !*c.DoNormalize {
		r.Mean, r.Std = [3]float32{}, [3]float32{1, 1, 1}
	}
	return r.Check()
}

func (r *Recipe) readSize(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var side int
	if json.Unmarshal(raw, &side) == nil {
		if r.Kind == Square {
			r.Width, r.Height = side, side
		}
		return nil
	}
	var s struct {
		Height, Width *int
		Shortest      *int `json:"shortest_edge"`
		Longest       *int `json:"longest_edge"`
		MinPixels     *int `json:"min_pixels"`
		MaxPixels     *int `json:"max_pixels"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return &pictureError{What: "preprocessor_config.json", Field: "size", Want: "a size", Err: err}
	}
	set := func(to *int, from ...*int) {
		for _, f := range from {
			if f != nil {
				*to = *f
			}
		}
	}
	switch r.Kind {
	case Square:
		set(&r.Height, s.Height)
		set(&r.Width, s.Width)
	case Area: // despite their names, these edges are areas
		set(&r.MinPixels, s.Shortest, s.MinPixels)
		set(&r.MaxPixels, s.Longest, s.MaxPixels)
	case Longest:
		set(&r.Width, s.Longest)
		r.Height = r.Width
	}
	return nil
}

// Check reports the first value that no image could be cut with.
func (r *Recipe) Check() error {
	bad := func(field, want string, got any) error {
		return &pictureError{What: "preprocessor_config.json", Field: field, Want: want, Got: fmt.Sprint(got)}
	}
	const most = 1 << 15
	for _, x := range []struct {
		field    string
		got, min int
		max      int
	}{
		{"patch_size", r.Patch, 1, 1 << 10}, {"temporal_patch_size", r.Temporal, 1, 16}, {"merge_size", r.Merge, 1, 64},
		{"min_pixels", r.MinPixels, 0, maxPixels}, {"max_pixels", r.MaxPixels, 0, maxPixels},
		{"size", r.Width, 0, most}, {"size", r.Height, 0, most},
		{"min_tiles", r.MinTiles, 0, 64}, {"max_tiles", r.MaxTiles, r.MinTiles, 64}, {"tile_size", r.Tile, 0, most},
		{"min_image_tokens", r.MinTokens, 0, 1 << 16}, {"max_image_tokens", r.MaxTokens, 0, 1 << 16},
		{"pan_and_scan_min_crop_size", r.Scan.Least, 0, most}, {"pan_and_scan_max_num_crops", r.Scan.Most, 0, 64},
	} {
		if x.got < x.min || x.got > x.max {
			return bad(x.field, fmt.Sprintf("%d to %d", x.min, x.max), x.got)
		}
	}
	for i := range 3 {
		if !(r.Std[i] > 0 && r.Std[i] < 1e6) || !(math.Abs(float64(r.Mean[i])) < 1e6) {
			return bad("image_std", "numbers above 0", r.Std)
		}
	}
	if !(r.Rescale > 0 && r.Rescale < 1e6) {
		return bad("rescale_factor", "a number above 0", r.Rescale)
	}
	if !(r.Tolerance >= 0 && r.Tolerance < 1e6) {
		return bad("max_pixels_tolerance", "a number, 0 or above", r.Tolerance)
	}
	if !(r.Scan.Ratio >= 0 && r.Scan.Ratio < 1e6) {
		return bad("pan_and_scan_min_ratio_to_activate", "a number, 0 or above", r.Scan.Ratio)
	}
	if r.Filter < Lanczos || r.Filter > Bicubic {
		return bad("resample", "1 (lanczos), 2 (bilinear) or 3 (bicubic)", r.Filter)
	}
	unit := r.Patch * r.Merge
	switch {
	case r.Kind == Area && r.MaxPixels < unit*unit:
		return bad("max_pixels", fmt.Sprintf("at least the %d of one token", unit*unit), r.MaxPixels)
	case r.Kind == Square && (r.Width < unit || r.Width%unit != 0 || r.Height < unit || r.Height%unit != 0):
		return bad("size", fmt.Sprintf("multiples of %d", unit), fmt.Sprintf("%d×%d", r.Width, r.Height))
	case r.Kind == Tiles && (r.MaxTokens < 1 || r.MinTokens > r.MaxTokens || r.MaxTiles > 1 && (r.Tile < unit || r.Tile%unit != 0)):
		return bad("tile_size", fmt.Sprintf("a multiple of %d, and tokens from few to many", unit), r.Tile)
	case r.Kind == Longest && r.Width < unit:
		return bad("size", fmt.Sprintf("at least %d", unit), r.Width)
	case r.enlarged() > maxEnlarged:
		return bad("size", fmt.Sprintf("at most %d pixels that an image is enlarged to", maxEnlarged/r.Temporal), r.enlarged()/r.Temporal)
	}
	return nil
}

// maxEnlarged bounds the pixels, of all repetitions in time, that a model's files may
// have every image enlarged to; they take 12 bytes each. Models use up to 2.6 million.
const maxEnlarged = 1 << 22

// enlarged returns the most pixels that the smallest of images may become.
func (r *Recipe) enlarged() int {
	token := r.Patch * r.Merge * r.Patch * r.Merge
	n := 0
	switch r.Kind {
	case Area:
		n = r.MinPixels
	case Square:
		n = r.Width * r.Height
	case Tiles:
		n = r.MinTokens * token
		if r.MaxTiles > 1 {
			n = max(n, r.MaxTiles*r.Tile*r.Tile)
		}
	}
	return max(n, token) * r.Temporal
}
