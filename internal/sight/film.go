package sight

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A Film says how a model wants its videos: which frames, and how large.
type Film struct {
	Recipe // of the frames; Kind is Area
	// Whole says that the pixels are those of all frames together, and that frames
	// are taken from the first to the last; otherwise they are of each frame.
	Whole bool
	// Sample takes FPS frames of each second, or Count of them all, in whole groups
	// that share patches. Otherwise all are taken.
	Sample               bool
	FPS                  float64
	Count                int
	MinFrames, MaxFrames int // of those by FPS
	// Capped bounds the pixels of a frame further, by CapTokens: tokens of a frame
	// if the pixels are of the whole, of the video otherwise.
	Capped    bool
	CapTokens int
}

// A Shooting is what a film takes of one video.
type Shooting struct {
	Frames        []int // numbers from 0, ascending
	FPS           float64
	Width, Height int // pixels of the frames
}

// defaultFPS is the rate of videos that do not state one.
const defaultFPS = 24

// maxCount bounds the frames that settings take of every video: a shorter one repeats
// its frames, which take 12 bytes a pixel each.
const maxCount = 4096

// Read changes the film by what a video_preprocessor_config.json says, or a
// processor_config.json that has one within.
func (f *Film) Read(data []byte) error { return f.read(data, true) }

// read is Read; outer says that data may be the settings of all processors.
func (f *Film) read(data []byte, outer bool) error {
	if len(data) > maxConfig {
		return &pictureError{What: "video_preprocessor_config.json", Want: fmt.Sprintf("at most %d bytes", maxConfig), Got: fmt.Sprint(len(data))}
	}
	var c struct {
		Inner     json.RawMessage `json:"video_processor"`
		Size      json.RawMessage `json:"size"`
		Sample    *bool           `json:"do_sample_frames"`
		FPS       json.RawMessage `json:"fps"`
		Count     *int            `json:"num_frames"`
		MinFrames *int            `json:"min_frames"`
		MaxFrames *int            `json:"max_frames"`
		Capped    *bool           `json:"cap_pixels_per_frame"`
		CapTokens *int            `json:"max_video_tokens"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return &pictureError{What: "video_preprocessor_config.json", Want: "the settings of a video processor", Err: err}
	}
	if outer && len(c.Inner) > 0 && string(c.Inner) != "null" {
		return f.read(c.Inner, false)
	}
	for _, x := range []struct{ to, from *int }{{&f.Count, c.Count}, {&f.MinFrames, c.MinFrames}, {&f.MaxFrames, c.MaxFrames}, {&f.CapTokens, c.CapTokens}} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	if c.Sample != nil {
		f.Sample = *c.Sample
	}
	if c.Capped != nil {
		f.Capped = *c.Capped
	}
	if len(c.FPS) > 0 {
		f.FPS = 0 // null: by the number of frames
		if err := json.Unmarshal(c.FPS, &f.FPS); err != nil {
			return &pictureError{What: "video_preprocessor_config.json", Field: "fps", Want: "a number", Err: err}
		}
	}
	least, most := f.MinPixels, f.MaxPixels
	if err := f.Recipe.read(data, false); err != nil {
		return err
	}
	if f.Whole { // whose processor has no min_pixels and max_pixels: they are those of images
		f.MinPixels, f.MaxPixels = least, most
		if err := errors.Join(f.readSize(c.Size), f.Check()); err != nil {
			return err
		}
	}
	return f.check()
}

func (f *Film) check() error {
	const most = 1 << 20
	for _, x := range []struct {
		field          string
		got, min, most int
	}{{"num_frames", f.Count, 0, maxCount}, {"min_frames", f.MinFrames, 1, most}, {"max_frames", f.MaxFrames, 1, most}, {"max_video_tokens", f.CapTokens, 0, most}} {
		if x.got < x.min || x.got > x.most {
			return &pictureError{What: "video_preprocessor_config.json", Field: x.field, Want: fmt.Sprintf("%d to %d", x.min, x.most), Got: fmt.Sprint(x.got)}
		}
	}
	if !(f.FPS >= 0 && f.FPS < 1e6) {
		return &pictureError{What: "video_preprocessor_config.json", Field: "fps", Want: "a number, 0 or above", Got: fmt.Sprint(f.FPS)}
	}
	return nil
}

// Shoot returns what to take of a video of n frames, shown in so many seconds (0 =
// it does not say). Where that is more than most tokens (0 = any number), fewer
// frames are taken, and smaller ones.
func (f *Film) Shoot(n, w, h int, seconds float64, most int) (Shooting, error) {
	if n < 1 || w < 1 || h < 1 {
		return Shooting{}, &pictureError{What: "video", Want: "frames", Got: "none"}
	}
	fps := float64(defaultFPS)
	if seconds > 0 {
		fps = float64(n) / seconds
	}
	s, err := f.shoot(n, w, h, fps)
	if err != nil || most <= 0 || f.tokens(&s) <= most {
		return s, err
	}
	const tries = 32
	g := *f
	if !g.Sample || g.FPS == 0 {
		g.Sample, g.Count, g.FPS = true, 0, 2
	}
	g.MaxFrames = min(g.MaxFrames, most*g.Temporal)
	g.MinFrames = min(g.MinFrames, g.MaxFrames)
	for range tries {
		if s, err = g.shoot(n, w, h, fps); err != nil || g.tokens(&s) <= most {
			return s, err
		}
		pixels := s.Width * s.Height
		if g.Whole {
			pixels *= len(s.Frames)
		}
		g.MaxPixels = int(float64(min(pixels, g.MaxPixels)) * min(.98, float64(most)/float64(g.tokens(&s))))
		g.MinPixels = min(g.MinPixels, g.MaxPixels)
		if least := g.Patch * g.Merge; s.Width <= least || s.Height <= least {
			g.MaxFrames = max(1, g.MaxFrames/2)
			g.MinFrames = min(g.MinFrames, g.MaxFrames)
		}
	}
	return s, nil
}

// tokens counts those of a shooting.
func (f *Film) tokens(s *Shooting) int {
	unit := f.Patch * f.Merge
	return (len(s.Frames) + f.Temporal - 1) / f.Temporal * (s.Width / unit) * (s.Height / unit)
}

func (f *Film) shoot(n, w, h int, fps float64) (s Shooting, err error) {
	s.FPS = fps
	if s.Frames, err = f.frames(n, fps); err != nil {
		return s, err
	}
	s.Width, s.Height, err = f.resized(len(s.Frames), w, h)
	return s, err
}

// frames returns the numbers of the frames of n that are taken (transformers,
// video_processing_qwen2_vl and video_processing_qwen3_vl, sample_frames).
func (f *Film) frames(n int, fps float64) ([]int, error) {
	take := n
	switch group := float64(f.Temporal); {
	case !f.Sample:
	case f.Whole && f.Count > 0:
		take = f.Count
	case f.Whole:
		take = min(max(int(min(float64(n)/fps*f.FPS, 1<<30)), f.MinFrames), f.MaxFrames, n)
	case f.Count > 0:
		take = int(math.RoundToEven(float64(f.Count)/group)) * f.Temporal
	default:
		most := math.Floor(float64(min(f.MaxFrames, n))/group) * group
		x := min(max(float64(n)/fps*f.FPS, float64(f.MinFrames)), most, float64(n))
		take = int(math.Floor(x/group)) * f.Temporal
	}
	if f.Sample && !f.Whole && take > n {
		return nil, &pictureError{What: "video", Field: "num_frames", Want: fmt.Sprintf("at most its %d frames", n), Got: fmt.Sprint(take)}
	}
	if take < 1 { // fewer than a group
		take = n
	}
	out := make([]int, 0, min(take, n)+1)
	if f.Whole && f.Sample { // numpy.linspace, rounded to even
		step := float64(n-1) / float64(max(take-1, 1))
		for i := range take {
			x := float64(i) * step
			if i > 0 && i == take-1 {
				x = float64(n - 1)
			}
			out = append(out, int(math.RoundToEven(x)))
		}
		return out, nil
	}
	step := float64(n) / float64(take) // torch.arange, whose numbers are of 32 bits
	for i := range take {
		out = append(out, min(int(float32(float64(i)*step)), n-1))
	}
	return out, nil
}

// resized returns the pixels that so many frames are resized to.
func (f *Film) resized(n, w, h int) (int, int, error) {
	unit := f.Patch * f.Merge
	area := unit * unit
	r := f.Recipe
	if !f.Whole {
		if f.Capped {
			total := int(float64(f.CapTokens*area) * 0.9)
			r.MaxPixels = max(min(r.MaxPixels, total*f.Temporal/n), int(float64(r.MinPixels)*1.05))
		}
		return r.size(w, h)
	}
	if f.Capped {
		r.MaxPixels = n * max(min(f.CapTokens*area, r.MaxPixels/n), int(float64(r.MinPixels)*1.05))
	}
	if h < unit || w < unit {
		scale := max(float64(unit)/float64(h), float64(unit)/float64(w))
		w, h = int(float64(w)*scale), int(float64(h)*scale)
	}
	if err := slender(w, h); err != nil {
		return 0, 0, err
	}
	groups := max(1, int(math.RoundToEven(float64(n)/float64(f.Temporal)))) * f.Temporal
	w, h = smart(w, h, n, groups, unit, 0, r.MinPixels, r.MaxPixels)
	return w, h, nil
}

// Cut makes one piece of the frames of a shooting. The last group that shares
// patches is filled with the last frame. Frames are resized as by
// torchvision, which all video processors use.
func (f *Film) Cut(frames []*Picture, s *Shooting) (PicturePiece, error) {
	if len(frames) == 0 {
		return PicturePiece{}, &pictureError{What: "video", Want: "frames", Got: "none"}
	}
	first := frames[0]
	var scaled []*Picture
	for i, p := range frames {
		if p.Width != first.Width || p.Height != first.Height {
			return PicturePiece{}, &pictureError{What: "video", Field: fmt.Sprintf("frame %d", i), Want: fmt.Sprintf("%d×%d pixels, as the first", first.Width, first.Height), Got: fmt.Sprintf("%d×%d", p.Width, p.Height)}
		}
		if i > 0 && p == frames[i-1] { // a short video, some of whose frames are taken repeatedly
			scaled = append(scaled, scaled[i-1])
			continue
		}
		scaled = append(scaled, p.ResizeShort(s.Width, s.Height, f.Filter))
	}
	return f.patches(scaled), nil
}

// Times returns when each group of frames is shown: the middle between its first
// and its last, in seconds (transformers, qwen3_vl, _calculate_timestamps).
func (s *Shooting) Times(group int) (out []float64) {
	at := func(i int) float64 { return float64(s.Frames[min(i, len(s.Frames)-1)]) / s.FPS }
	for i := 0; i < len(s.Frames); i += group {
		out = append(out, (at(i)+at(i+group-1))/2)
	}
	return out
}

// Seconds is how long a group of frames is shown, when n is the frames of the video.
func (s *Shooting) Seconds(group, n int) float64 {
	return float64(group) / (float64(len(s.Frames)) / float64(n) * s.FPS)
}
