package sight

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
)

func load(t testing.TB, dir, name string) *Picture {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestResizeEqualsPillow compares every pixel.
func TestResizeEqualsPillow(t *testing.T) {
	src := load(t, "testdata", "source.png")
	n := 0
	for name, f := range map[string]Filter{"lanczos": Lanczos, "bilinear": Bilinear, "bicubic": Bicubic} {
		files, _ := filepath.Glob(filepath.Join("testdata", name+"_*.png"))
		for _, file := range files {
			want := load(t, "testdata", filepath.Base(file))
			if got := src.Resize(want.Width, want.Height, f); !bytes.Equal(got.Pix, want.Pix) {
				t.Errorf("%s differs", file)
			}
			n++
		}
	}
	if n != 30 {
		t.Fatalf("%d pictures, want 30", n)
	}
}

// TestPatchesEqualProcessors compares patches with those of transformers. Where
// these resample with torchvision, pixels may differ by one of 255. ATENIA_PICTURES
// names a folder with more of them.
func TestPatchesEqualProcessors(t *testing.T) {
	var cases []struct {
		Name, Kind string
		Config     json.RawMessage
		Exact      bool
		Grid       [][3]int `json:"image_grid_thw"`
		Shapes     [][2]int `json:"spatial_shapes"`
		Sizes      [][2]int `json:"image_sizes"`
	}
	dir := cmp.Or(os.Getenv("ATENIA_PICTURES"), "testdata")
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r := Recipe{Kind: Kind(c.Kind), Patch: 4, Temporal: 1, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: Bicubic,
				MaxPixels: 1000, Width: 24, Height: 24, MinTokens: 4, MaxTokens: 16, MinTiles: 2, MaxTiles: 6, Tile: 16, Tolerance: 2, Thumbnail: true}
			if r.Kind == Area {
				r.Temporal = 2
			}
			if err := r.Read(c.Config); err != nil {
				t.Fatal(err)
			}
			pieces, err := r.Cut(load(t, dir, c.Name+".png"))
			if err != nil {
				t.Fatal(err)
			}
			want := golden.NPY(t, filepath.Join(dir, c.Name+".npy"))
			for i, p := range pieces {
				switch r.Kind {
				case Area:
					if p.Grid != c.Grid[i] {
						t.Fatalf("grid %v, want %v", p.Grid, c.Grid[i])
					}
					near(t, p.Values, want.F32, 1e-5)
				case Square:
					if len(pieces) != want.Shape[0] {
						t.Fatalf("%d pieces, want %d", len(pieces), want.Shape[0])
					}
					n := 3 * r.Height * r.Width
					near(t, p.Values, planes(want.F32[i*n:(i+1)*n], [2]int{r.Height, r.Width}, 4, 2), 1e-5)
				case Longest:
					if len(pieces) != 1 || c.Sizes[i] != [2]int{4 * p.Grid[1], 4 * p.Grid[2]} {
						t.Fatalf("the grid %v, want the sides %v", p.Grid, c.Sizes)
					}
					tol := 1e-5
					if !c.Exact {
						tol = 1.01 / 255 / 0.26
					}
					near(t, p.Values, planes(want.F32, c.Sizes[i], 4, 2), tol)
				case Tiles:
					if len(pieces) != len(c.Shapes) || [2]int{p.Grid[1], p.Grid[2]} != c.Shapes[i] {
						t.Fatalf("piece %d of %d has the grid %v, want %v", i, len(pieces), p.Grid, c.Shapes)
					}
					per := want.Shape[1] * want.Shape[2]
					near(t, p.Values, interleaved(want.F32[i*per:(i+1)*per], c.Shapes[i], 4, 2), 1e-5)
				}
			}
		})
	}
}

func near(t *testing.T, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		if math.Abs(float64(got[i]-want[i])) > tol {
			t.Fatalf("value %d is %g, want %g", i, got[i], want[i])
		}
	}
}

// planes lists the blocks of an image [3, height, width].
func planes(px []float32, size [2]int, patch, merge int) (out []float32) {
	h, w := size[0], size[1]
	eachPatch(h/patch, w/patch, merge, func(y, x int) {
		for c := range 3 {
			for i := range patch * patch {
				out = append(out, px[(c*h+y*patch+i/patch)*w+x*patch+i%patch])
			}
		}
	})
	return out
}

// interleaved lists the blocks of rows of patches with channels last.
func interleaved(px []float32, grid [2]int, patch, merge int) (out []float32) {
	n := 3 * patch * patch
	eachPatch(grid[0], grid[1], merge, func(y, x int) {
		row := px[(y*grid[1]+x)*n:][:n]
		for c := range 3 {
			for i := range patch * patch {
				out = append(out, row[3*i+c])
			}
		}
	})
	return out
}

func eachPatch(h, w, merge int, f func(y, x int)) {
	for y := 0; y < h; y += merge {
		for x := 0; x < w; x += merge {
			for k := range merge * merge {
				f(y+k/merge, x+k%merge)
			}
		}
	}
}

// TestBombs decodes files that claim more than they have.
func TestBombs(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	big := b.Bytes()
	copy(big[16:24], []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff}) // 65535 × 65535
	for name, data := range map[string][]byte{"empty": nil, "text": []byte("an image"), "huge": big} {
		_, err := Decode(data)
		var e *pictureError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want an *Error", name, err)
		}
	}
}

// TestClaims: what a file may have decoded follows from its length, so that one of a
// few bytes takes no memory; an ordinary photograph or drawing passes.
func TestClaims(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	claim := func(w, h, size int) []byte {
		out := append(bytes.Clone(b.Bytes()), make([]byte, max(0, size-b.Len()))...)
		binary.BigEndian.PutUint32(out[16:], uint32(w))
		binary.BigEndian.PutUint32(out[20:], uint32(h))
		binary.BigEndian.PutUint32(out[29:], crc32.ChecksumIEEE(out[12:29]))
		return out
	}
	for _, c := range []struct {
		w, h, size int
		ok         bool
	}{{2000, 2000, 0, true}, {8000, 8000, 0, false}, {3840, 2160, 200 << 10, true}, {8000, 6000, 4 << 20, true}, {10001, 10000, 10 << 20, false}} {
		if err := bounded(claim(c.w, c.h, c.size)); (err == nil) != c.ok {
			t.Errorf("%d×%d in %d bytes: %v", c.w, c.h, c.size, err)
		}
	}
}

// TestEnlarged: a model's files cannot have every image made huge.
func TestEnlarged(t *testing.T) {
	r := Recipe{Patch: 14, Temporal: 2, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: Bicubic,
		MaxPixels: 1 << 20, Width: 56, Height: 56, MinTokens: 4, MaxTokens: 64, MinTiles: 2, MaxTiles: 6, Tile: 28, Tolerance: 2}
	for kind, text := range map[Kind]string{
		Area: `{"min_pixels":12845056,"max_pixels":12845056}`, Square: `{"size":{"height":2800,"width":2800}}`, Tiles: `{"tile_size":2800}`,
	} {
		x := r
		x.Kind = kind
		if err := x.Read([]byte(`{}`)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := x.Read([]byte(text)); err == nil {
			t.Errorf("%s %s: no error", kind, text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	b, _ := os.ReadFile("testdata/area2.png")
	f.Add(b)
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 || bounded(data) == nil && tooSlow(data) {
			return
		}
		if p, err := Decode(data); err == nil && len(p.Pix) != 3*p.Width*p.Height {
			t.Fatal("pixels are missing")
		}
		want := 0
		frames, err := DecodeVideo(data, func(n, w, h int, seconds float64) ([]int, error) {
			want = min(n, 4)
			return []int{0, n / 3, n / 2, n - 1}[4-want:], nil
		})
		if err == nil && len(frames) != want {
			t.Fatalf("%d frames, want %d", len(frames), want)
		}
	})
}

// tooSlow skips sizes that would take a fuzzer's time.
func tooSlow(data []byte) bool {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return err != nil || c.Width*c.Height > 1<<20
}

func FuzzRecipe(f *testing.F) {
	f.Add([]byte(`{"size":{"shortest_edge":3136,"longest_edge":12845056},"image_mean":[0.5,0.5,0.5],"image_std":[0.5],"resample":3}`), 10, 400)
	f.Add([]byte(`{"tile_size":512,"max_tiles":10,"max_image_tokens":256}`), 1000, 30)
	f.Fuzz(func(t *testing.T, data []byte, w, h int) {
		for _, k := range []Kind{Area, Square, Tiles, Longest} {
			r := Recipe{Kind: k, Patch: 4, Temporal: 1, Merge: 2, Rescale: 1. / 255, Std: [3]float32{1, 1, 1}, Filter: Bicubic,
				MaxPixels: 4096, Width: 64, Height: 64, MinTokens: 4, MaxTokens: 16, MinTiles: 2, MaxTiles: 6, Tile: 16, Tolerance: 2}
			if r.Read(data) != nil || w < 1 || h < 1 || w > 64 || h > 64 {
				continue
			}
			if r.MaxPixels > 1<<16 || r.Width > 256 || r.Height > 256 || r.Tile > 64 || r.MaxTokens > 256 || r.MinPixels > 1<<16 {
				continue
			}
			p := &Picture{w, h, make([]byte, 3*w*h)}
			pieces, err := r.Cut(p)
			for _, x := range pieces {
				if x.Grid[1]%r.Merge != 0 || x.Grid[2]%r.Merge != 0 || len(x.Values) != x.Grid[1]*x.Grid[2]*3*r.Temporal*r.Patch*r.Patch {
					t.Fatalf("%v of %+v: %v", x.Grid, r, err)
				}
			}
		}
	})
}

// TestOrientation turns a picture as each of the eight orientations says, twice
// where that returns it.
func TestOrientation(t *testing.T) {
	p := load(t, "testdata", "area0.png")
	for o := 1; o <= 8; o++ {
		back := map[int]int{6: 8, 8: 6}[o]
		if back == 0 {
			back = o
		}
		if q := p.oriented(o).oriented(back); !bytes.Equal(q.Pix, p.Pix) {
			t.Errorf("orientation %d is not undone by %d", o, back)
		}
	}
	exif := "\xff\xd8\xff\xe1\x00\x22Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00" + strings.Repeat("\x00", 8)
	if got := orientation([]byte(exif)); got != 6 {
		t.Errorf("orientation %d, want 6", got)
	}
}
