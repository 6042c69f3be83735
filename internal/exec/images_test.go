package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/plan"
)

func init() {
	others["vlm"], others["vlm_square"], others["vlm_naflex"] = imageParity, imageParity, imageParity
	others["vlm_padded"] = imageParity
}

// imageOps are the opcodes that cases with images run.
var imageOps = map[plan.Opcode]bool{
	plan.OpPatchEmbed: true, plan.OpSpatialMerge: true, plan.OpDeepstackTap: true, plan.OpVisionScatter: true, plan.OpDeepstackInject: true,
}

// An imageCase is the input of a case with images.
type imageCase struct {
	patches []exec.Patches
	video   bool
	seconds float64
}

// readImages reads the patches of a case in the order of blocks.
func readImages(t *testing.T, v *compile.Vision, folder string, f *fixture) (c imageCase) {
	npy := func(name string) *golden.Array {
		if p := f.Inputs[name]; p != "" {
			return golden.NPY(t, filepath.Join(folder, p))
		}
		return nil
	}
	cols := v.Patch * v.Patch * v.Channels * v.Temporal
	grid, px := npy("image_grid_thw"), npy("pixel_values")
	if grid == nil {
		grid, c.video = npy("video_grid_thw"), true
	}
	if px == nil {
		px = npy("pixel_values_videos")
	}
	switch f.Kind {
	case "vlm":
		at := 0
		for i := range grid.Shape[0] {
			var g [3]int
			for k := range g {
				g[k] = int(grid.I32[3*i+k])
			}
			n := g[0] * g[1] * g[2] * cols
			c.patches = append(c.patches, exec.Patches{Grid: g, Values: px.F32[at : at+n]})
			at += n
		}
		if s := npy("second_per_grid_ts"); s != nil {
			c.seconds = float64(s.F32[0])
		}
	case "vlm_naflex":
		s := npy("spatial_shapes")
		h, w := int(s.I32[0]), int(s.I32[1])
		c.video = false
		c.patches = []exec.Patches{blocks(h, w, v.Merge, cols, func(y, x int, dst []float32) { planes(dst, px.F32[(y*w+x)*cols:], v.Channels) })}
	case "vlm_padded":
		c.video = false
		sizes := npy("image_sizes")
		high, wide := px.Shape[2], px.Shape[3]
		for i := range px.Shape[0] {
			image := px.F32[i*3*high*wide:]
			c.patches = append(c.patches, blocks(int(sizes.I32[2*i])/v.Patch, int(sizes.I32[2*i+1])/v.Patch, v.Merge, cols, func(y, x int, dst []float32) {
				for k := range dst {
					ch, py, qx := k/v.Patch/v.Patch, k/v.Patch%v.Patch, k%v.Patch
					dst[k] = image[(ch*high+y*v.Patch+py)*wide+x*v.Patch+qx]
				}
			}))
		}
	case "vlm_square":
		side := v.Side
		n := side / v.Patch
		c.video = false
		for i := range px.Shape[0] {
			image := px.F32[i*3*side*side:]
			c.patches = append(c.patches, blocks(n, n, v.Merge, cols, func(y, x int, dst []float32) {
				k := 0
				for ch := range 3 {
					for py := range v.Patch {
						for qx := range v.Patch {
							dst[k] = image[(ch*side+y*v.Patch+py)*side+x*v.Patch+qx]
							k++
						}
					}
				}
			}))
		}
	}
	return c
}

// planes lists the pixels of each channel of a patch that lists the channels of
// each pixel.
func planes(dst, src []float32, channels int) {
	n := len(dst) / channels
	for c := range channels {
		for i := range n {
			dst[c*n+i] = src[i*channels+c]
		}
	}
}

// blocks lists patches by square blocks of m.
func blocks(h, w, m, cols int, put func(y, x int, dst []float32)) exec.Patches {
	p := exec.Patches{Grid: [3]int{1, h, w}, Values: make([]float32, h*w*cols)}
	at := 0
	for y := 0; y < h; y += m {
		for x := 0; x < w; x += m {
			for k := range m * m {
				put(y+k/m, x+k%m, p.Values[at:at+cols])
				at += cols
			}
		}
	}
	return p
}

// TestVisionStageParity: the stage of images alone, which hands its rows to that of the
// text, makes the rows that PyTorch makes, those of the layers between included.
func TestVisionStageParity(t *testing.T) {
	dir := golden.Family(t, "parity")
	stages := 0
	for _, name := range golden.Dirs(t, dir) {
		folder := filepath.Join(dir, name)
		var f fixture
		golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
		if !strings.HasPrefix(f.Kind, "vlm") {
			continue
		}
		stages++
		t.Run(name, func(t *testing.T) {
			d, err := file.Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			stageParity(t, load(t, d, exactly), folder, &f)
		})
	}
	if stages == 0 {
		t.Skip("no case has images")
	}
}

// stageParity encodes the images of a case and compares the rows with PyTorch's.
func stageParity(t *testing.T, m *model, folder string, f *fixture) (imageCase, []*exec.Encoded) {
	v := m.Config.Vision
	c := readImages(t, v, folder, f)
	tower, err := exec.NewTower(&m.Plans, m.weights, exec.Config{Threads: 2, MaxTokens: 128})
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	var images []*exec.Encoded
	var rows []float32
	deep := make([][]float32, len(v.Deepstack))
	for i := range c.patches {
		e, err := tower.Encode(&c.patches[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, e)
		rows = append(rows, e.Rows...)
		for k := range deep {
			deep[k] = append(deep[k], e.Deep[k]...)
		}
	}
	compared := 0
	sameRows := func(name, path string, got []float32) {
		if path == "" {
			return
		}
		compared++
		want := golden.NPY(t, filepath.Join(folder, path)).F32
		if len(got) != len(want) {
			t.Fatalf("%s: %d values, want %d", name, len(got), len(want))
		}
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= f.Tolerance.MaxAbs) {
				t.Fatalf("%s: value %d is %g, want %g, tolerance %g", name, i, got[i], want[i], f.Tolerance.MaxAbs)
			}
		}
	}
	for _, s := range f.Sequences {
		sameRows("image_embeds", s.ImageEmbeds, rows)
		for k, path := range []string{s.Deepstack0, s.Deepstack1} {
			if k < len(deep) {
				sameRows(fmt.Sprintf("deepstack%d", k), path, deep[k])
			}
		}
	}
	if compared == 0 {
		t.Error("the case has no rows of images")
	}
	return c, images
}

// imageParity compares the rows that the tower makes with PyTorch's, then the
// logits of prompts with them, for prefixes that end anywhere the case allows.
func imageParity(t *testing.T, m *model, folder string, f *fixture) {
	v := m.Config.Vision
	c, images := stageParity(t, m, folder, f)
	for _, s := range f.Sequences {
		spans := spansOf(v, &c, images, s.Tokens)
		want := golden.NPY(t, filepath.Join(folder, s.Logits))
		prefixes := []int{s.Prompt, len(s.Tokens), s.Prompt + 1 + rand.New(rand.NewPCG(7, 1)).IntN(len(s.Tokens)-s.Prompt)}
		if !v.Whole { // rows of an image come by index: any cut is allowed
			prefixes = append(prefixes, 1, 7, spans[0].At+1, spans[0].At+3)
		}
		imageBatch(t, m, spans, s.Tokens)
		for _, n := range prefixes {
			l := m.lane(t, exec.Config{Threads: 2, MaxLogits: 512, Context: 512})
			l.spans = spans
			got := l.all(s.Tokens, n, 1)
			if err := compare(got, want, f.Tolerance.MaxAbs); err != nil {
				t.Errorf("%s, prefill of %d: %v", s.Name, n, err)
				return
			}
		}
	}
}

// imageBatch compares, bit for bit, the rows of a prompt with images alone with
// those beside another one that has begun.
func imageBatch(t *testing.T, m *model, spans []exec.Span, tokens []int32) {
	l := m.lane(t, exec.Config{Threads: 2, MaxLogits: 512, Context: 512})
	l.spans = spans
	alone := l.run(&exec.Step{}, feed{l.sequence(len(tokens)), tokens})
	graphImages(t, m, spans, tokens, alone)
	other := l.sequence(len(tokens))
	l.run(&exec.Step{}, feed{other, tokens[:spans[0].At]})
	rest := tokens[spans[0].At : spans[0].At+spans[0].Len]
	both := l.run(&exec.Step{}, feed{other, rest}, feed{l.sequence(len(tokens)), tokens})
	for i, row := range both {
		want := i - len(rest)
		if want < 0 {
			want = i + spans[0].At
		}
		for k := range row {
			if row[k] != alone[want][k] {
				t.Errorf("row %d of a batch, value %d: %g, alone %g", i, k, row[k], alone[want][k])
				return
			}
		}
	}
}

// spansOf finds the places of images in a prompt.
func spansOf(v *compile.Vision, c *imageCase, images []*exec.Encoded, tokens []int32) (out []exec.Span) {
	if v.Images.Frame == compile.FrameRows {
		at := 0
		for _, e := range images {
			for row := range e.Grid[1] {
				for int(tokens[at]) != v.ImageToken {
					at++
				}
				out = append(out, exec.Span{At: at, Len: e.Grid[2], Image: e, From: row * e.Grid[2]})
				at += e.Grid[2]
			}
		}
		return out
	}
	for at := 0; at < len(tokens); at++ {
		if int(tokens[at]) != v.ImageToken && int(tokens[at]) != v.VideoToken || len(out) == len(images) {
			continue
		}
		e := images[len(out)]
		s := exec.Span{At: at, Len: e.Tokens(), Image: e, Grid: e.Grid}
		if c.video {
			s.Step = c.seconds * float64(v.PerSecond)
		}
		out = append(out, s)
		at += s.Len - 1
	}
	return out
}
