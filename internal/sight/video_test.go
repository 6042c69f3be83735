package sight

import (
	"bytes"
	"cmp"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
)

// A filmCase is what a processor of transformers made of a video
// (tools/torch/videos.py).
type filmCase struct {
	Name, Kind    string
	Config        json.RawMessage
	Frames        int
	Hundredths    int // of a second, of all frames
	Height, Width int
	Take          []int
	Grid          [3]int
	Text          string
	Places        [][3]int32
	Patches       bool
}

var filmMarks = []string{"<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"}

// eye returns an eye of the class of models, which has no tower.
func (c *filmCase) eye(t *testing.T) *Eye {
	t.Helper()
	v := &compile.Vision{Patch: 4, Temporal: 2, Channels: 3, Merge: 2, ImageToken: 0, VideoToken: 1, StartToken: 2, EndToken: 3, Video: true}
	v.Images.Mean, v.Images.Std, v.Images.Filter, v.Images.Sizes = [3]float32{.5, .5, .5}, [3]float32{.5, .5, .5}, 3, "area"
	v.Videos = compile.Videos{MinPixels: 128 * 28 * 28, MaxPixels: 768 * 28 * 28}
	switch c.Kind {
	case "qwen3":
		v.Videos = compile.Videos{Timed: true, Whole: true, Sampled: true, MinPixels: 128 * 32 * 32, MaxPixels: 768 * 32 * 32}
	case "qwen2_5":
		v.PerSecond = 4
	}
	e := &Eye{v: v, film: filmOf(v)}
	if err := e.film.Read(c.Config); err != nil {
		t.Fatal(err)
	}
	return e
}

// frame returns the pixels of one frame as the generator makes them.
func (c *filmCase) frame(f int) *Picture {
	p := &Picture{Width: c.Width, Height: c.Height}
	for y := range c.Height {
		for x := range c.Width {
			for ch := range 3 {
				p.Pix = append(p.Pix, byte(x*x+3*y*(ch+1)+17*f+x*y*ch))
			}
		}
	}
	return p
}

// file returns a GIF file of the video's size and times.
func (c *filmCase) file(t *testing.T) []byte {
	t.Helper()
	var g gif.GIF
	for i := range c.Frames {
		g.Image = append(g.Image, image.NewPaletted(image.Rect(0, 0, c.Width, c.Height), color.Palette{color.Gray{byte(i)}, color.White}))
		g.Delay = append(g.Delay, c.Hundredths*(i+1)/c.Frames-c.Hundredths*i/c.Frames)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestVideosEqualProcessors compares frames, sizes, texts, positions and patches of
// videos with what the processors of Qwen2-VL, Qwen2.5-VL and Qwen3-VL make.
// ATENIA_VIDEOS names a folder with more of them.
func TestVideosEqualProcessors(t *testing.T) {
	dir := cmp.Or(os.Getenv("ATENIA_VIDEOS"), filepath.Join("testdata", "videos"))
	var cases []filmCase
	golden.JSON(t, filepath.Join(dir, "cases.json"), &cases)
	patches := map[string]int{}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			e := c.eye(t)
			c.checkText(t, e)
			if c.Patches {
				c.checkPatches(t, e, dir)
				patches[c.Kind]++
			}
		})
	}
	if len(cases) < 24 || len(patches) != 3 {
		t.Fatalf("%d cases, patches of %v", len(cases), patches)
	}
}

// checkText shows the video in a prompt.
func (c *filmCase) checkText(t *testing.T, e *Eye) {
	s, err := e.Measure(c.file(t), true)
	if err != nil {
		t.Fatal(err)
	}
	token := func(id int32) (string, bool) { return filmMarks[id], true }
	text, _, err := e.Text("ab<|vision_start|><|video_pad|><|vision_end|>cd", nil, []*Seen{s}, token)
	if err != nil {
		t.Fatal(err)
	}
	if text != c.Text {
		t.Fatalf("the text is\n%s, want\n%s", text, c.Text)
	}
	var ids []int32
scan:
	for text != "" {
		for i, m := range filmMarks {
			if rest, ok := strings.CutPrefix(text, m); ok {
				ids, text = append(ids, int32(i)), rest
				continue scan
			}
		}
		ids, text = append(ids, int32(text[0])), text[1:]
	}
	images, err := e.Place(ids, []*Seen{s})
	if err != nil {
		t.Fatal(err)
	}
	if c.Places == nil {
		return
	}
	run := exec.Run{Len: len(ids)}
	for _, m := range images {
		run.Spans = append(run.Spans, m.Span)
	}
	got, want := run.Places(nil), c.Places
	// After a video that lasts longer than its frames are large transformers 5 goes back
	// to before its end; models were trained to go on after it, as transformers 4 did.
	if last := run.Spans[len(run.Spans)-1]; slices.MaxFunc(got[last.At:last.At+last.Len], func(a, b [3]int32) int { return int(a[0] - b[0]) })[0] > got[last.At+last.Len-1][1] &&
		got[last.At+last.Len-1][0] > got[last.At+last.Len-1][2] {
		got, want = got[:last.At+last.Len], want[:last.At+last.Len]
	}
	if !slices.Equal(got, want) {
		for i := range got {
			if i < len(want) && got[i] != want[i] {
				t.Fatalf("token %d of %d is at %v, want %v of %d", i, len(got), got[i], want[i], len(want))
			}
		}
		t.Fatalf("%d tokens, want %d", len(got), len(want))
	}
}

// checkPatches cuts the frames.
func (c *filmCase) checkPatches(t *testing.T, e *Eye, dir string) {
	s, err := e.film.Shoot(c.Frames, c.Width, c.Height, float64(c.Hundredths)/100, 0)
	if err != nil || !slices.Equal(s.Frames, c.Take) {
		t.Fatalf("frames %v (%v), want %v", s.Frames, err, c.Take)
	}
	var frames []*Picture
	for _, f := range s.Frames {
		frames = append(frames, c.frame(f))
	}
	p, err := e.film.Cut(frames, &s)
	if err != nil || p.Grid != c.Grid {
		t.Fatalf("grid %v (%v), want %v", p.Grid, err, c.Grid)
	}
	want, err := os.ReadFile(filepath.Join(dir, c.Name+".u8"))
	if err != nil || len(want) != len(p.Values) {
		t.Fatalf("%d values, want %d (%v)", len(p.Values), len(want), err)
	}
	const plane = 4 * 4 * 2
	for i, v := range p.Values {
		ch := i / plane % 3
		got := 255 * (v*e.film.Std[ch] + e.film.Mean[ch])
		if math.Abs(float64(got)-float64(want[i])) > 0.01 {
			t.Fatalf("value %d is %g, want %d", i, got, want[i])
		}
	}
}

// TestVideoFits: a video with more tokens than fit has fewer and smaller frames, of
// the whole time.
func TestVideoFits(t *testing.T) {
	for _, kind := range []string{"qwen2", "qwen3"} {
		c := filmCase{Kind: kind, Config: json.RawMessage(`{}`), Frames: 600, Hundredths: 3000, Height: 90, Width: 120}
		e := c.eye(t)
		for _, most := range []int{1, 3, 64, 1000, 30_000} {
			s, err := e.film.Shoot(c.Frames, c.Width, c.Height, 30, most)
			n := (len(s.Frames) + 1) / 2 * (s.Width / 8) * (s.Height / 8)
			if err != nil || n < 1 || n > most {
				t.Errorf("%s: %d frames of %d×%d are %d tokens, want at most %d (%v)", kind, len(s.Frames), s.Width, s.Height, n, most, err)
			}
			if most == 1000 && (n < most*2/3 || s.Frames[len(s.Frames)-1] < 500) {
				t.Errorf("%s: %d tokens of %d, to frame %d", kind, n, most, s.Frames[len(s.Frames)-1])
			}
		}
	}
}
