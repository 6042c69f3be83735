package sight

import (
	"atenia/internal/golden/await"
	"slices"
	"strings"
	"testing"
)

// TestNestedSettings: settings within settings within settings are not parsed again for
// each level.
func TestNestedSettings(t *testing.T) {
	for key, read := range map[string]func([]byte) error{
		"image_processor": func(b []byte) error { return (&Recipe{Kind: Area, Patch: 14}).Read(b) },
		"video_processor": func(b []byte) error { return (&Film{}).Read(b) },
	} {
		const deep = 9000
		text := strings.Repeat(`{"`+key+`":`, deep) + "{}" + strings.Repeat("}", deep)
		text += strings.Repeat(" ", maxConfig-len(text))
		if n := await.Bytes(func() { _ = read([]byte(text)) }); n > 16*maxConfig {
			t.Errorf("%s: %d bytes are allocated", key, n)
		}
	}
}

// TestRepeatedFrames: a frame that is taken several times is resized once, and gives what
// as many copies of it give.
func TestRepeatedFrames(t *testing.T) {
	m := Film{Recipe: Recipe{Kind: Area, Patch: 4, Temporal: 2, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: Bicubic}}
	shot := &Shooting{Width: 16, Height: 24}
	var repeated, copies []*Picture
	for i := range 3 {
		p := &Picture{20, 20, make([]byte, 3*20*20)}
		for k := range p.Pix {
			p.Pix[k] = byte(i*50 + k)
		}
		for range 4 {
			repeated = append(repeated, p)
			copies = append(copies, &Picture{20, 20, p.Pix})
		}
	}
	cut := func(frames []*Picture) (p PicturePiece, allocs float64) {
		allocs = await.Allocs(1, func() {
			var err error
			if p, err = m.Cut(frames, shot); err != nil {
				t.Fatal(err)
			}
		})
		return p, allocs
	}
	got, less := cut(repeated)
	want, more := cut(copies)
	if got.Grid != want.Grid || !slices.Equal(got.Values, want.Values) {
		t.Error("repeated frames differ from copies of them")
	}
	_, once := cut(repeated[:1])
	_, twice := cut([]*Picture{repeated[0], repeated[4]})
	if each := twice - once; less >= 4*each+once || more < 11*each {
		t.Errorf("3 frames taken 4 times each make %v allocations, 12 frames %v, and one takes %v", less, more, each)
	}
}

// FuzzFilm reads settings of videos and takes what they say of a short one.
func FuzzFilm(f *testing.F) {
	f.Add([]byte(`{"size":{"shortest_edge":4096,"longest_edge":25165824},"fps":2,"min_frames":4,"max_frames":768,"do_sample_frames":true}`), 9, 40, 30)
	f.Add([]byte(`{"video_processor":{"num_frames":12,"do_sample_frames":true,"cap_pixels_per_frame":true,"max_video_tokens":100}}`), 3, 200, 3)
	f.Fuzz(func(t *testing.T, data []byte, n, w, h int) {
		if n < 1 || n > 32 || w < 1 || h < 1 || w > 64 || h > 64 {
			return
		}
		for _, whole := range []bool{false, true} {
			m := Film{Recipe: Recipe{Kind: Area, Patch: 4, Temporal: 2, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: Bicubic, MinPixels: 64, MaxPixels: 4096},
				Whole: whole, Sample: true, FPS: 2, MinFrames: 4, MaxFrames: 16}
			if m.Read(data) != nil || m.MinPixels > 1<<14 || m.Count > 64 {
				continue
			}
			s, err := m.Shoot(n, w, h, 1.5, 64)
			if err != nil {
				continue
			}
			frames := make([]*Picture, len(s.Frames))
			for i, at := range s.Frames {
				if at < 0 || at >= n || i > 0 && at < s.Frames[i-1] {
					t.Fatalf("frames %v of %d", s.Frames, n)
				}
				frames[i] = &Picture{w, h, make([]byte, 3*w*h)}
			}
			if len(frames) == 0 || s.Width < 1 || s.Height < 1 || s.Width*s.Height*len(frames) > 1<<22 {
				t.Fatalf("%d frames of %d×%d of %+v", len(frames), s.Width, s.Height, m)
			}
			p, err := m.Cut(frames, &s)
			if err != nil || p.Grid[0]*m.Temporal < len(frames) || len(p.Values) != p.Grid[0]*p.Grid[1]*p.Grid[2]*3*m.Temporal*m.Patch*m.Patch {
				t.Fatalf("%v of %+v: %v", p.Grid, s, err)
			}
			if got := len(s.Times(m.Temporal)); got != p.Grid[0] {
				t.Fatalf("%d times of %v", got, p.Grid)
			}
		}
	})
}
