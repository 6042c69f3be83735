package sight

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
)

// TestRowsOfImages writes and finds the placeholders of images whose rows end with
// a token (transformers, PixtralProcessor).
func TestRowsOfImages(t *testing.T) {
	texts := []string{"[IMG]", "[IMG_BREAK]", "[IMG_END]", "a", "b"}
	v := &compile.Vision{ImageToken: 0}
	v.Images.Frame = compile.FrameRows
	e := &Eye{v: v}
	token := func(id int32) (string, bool) { return texts[id], true }
	see := func(h, w int) *Seen {
		return &Seen{Pieces: []Piece{{Encoded: &exec.Encoded{Grid: [3]int{1, h, w}}}}}
	}
	seen := []*Seen{see(2, 3), see(1, 2)}
	got, _, err := e.Text("a[IMG]b[IMG]a", nil, seen, token)
	if err != nil {
		t.Fatal(err)
	}
	want := "a[IMG][IMG][IMG][IMG_BREAK][IMG][IMG][IMG][IMG_END]b[IMG][IMG][IMG_END]a"
	if got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	// Marks that a conversation said are text.
	prompt, said := "[IMG]a[IMG]b[[IMG][IMG]a[", []int{0, 12, 18, 24}
	again, moved, err := e.Text(prompt, said, seen, token)
	if err != nil || again != "[IMG]a"+want[1:51]+"b["+want[52:len(want)-1]+"[IMG]a[" {
		t.Fatalf("%s, %v", again, err)
	}
	for i, at := range moved {
		if again[at] != '[' || len(moved) != len(said) || i > 0 && at <= moved[i-1] {
			t.Errorf("said at %v of %s", moved, again)
		}
	}
	if n, err := e.Marks(prompt, said, token); n != 2 || err != nil {
		t.Errorf("%d marks, %v", n, err)
	}
	if _, _, err := e.Text(prompt, nil, seen, token); err == nil {
		t.Error("four marks of two images")
	}
	var ids []int32
	for rest := want; rest != ""; {
		for i, s := range texts {
			if after, ok := strings.CutPrefix(rest, s); ok {
				ids, rest = append(ids, int32(i)), after
			}
		}
	}
	images, err := e.Place(ids, seen)
	if err != nil {
		t.Fatal(err)
	}
	places := [][3]int{{1, 3, 0}, {5, 3, 3}, {10, 2, 0}} // position, tokens, first row
	if len(images) != len(places) {
		t.Fatalf("%d stretches, want %d", len(images), len(places))
	}
	for i, p := range places {
		s := images[i]
		if [3]int{s.At, s.Len, s.From} != p || s.Grid != [3]int{} {
			t.Errorf("stretch %d: %+v, want %v", i, s.Span, p)
		}
	}
	if images[0].Hash == images[1].Hash {
		t.Error("two rows have one hash")
	}
	if _, err := e.Place(ids[:len(ids)-3], seen); err == nil {
		t.Error("a row is cut, without an error")
	}
}

// TestPartsOfImages writes an image and its parts as Gemma3Processor does with
// do_pan_and_scan, and finds them again.
func TestPartsOfImages(t *testing.T) {
	texts := []string{"<image_soft_token>", "<start_of_image>", "<end_of_image>"}
	v := &compile.Vision{ImageToken: 0, StartToken: 1, EndToken: 2, Side: 24, Patch: 4, Temporal: 1, Merge: 2}
	v.Images = compile.Images{Sizes: "square", Frame: compile.FrameParagraph, Filter: 2, Mean: [3]float32{.5, .5, .5}, Std: [3]float32{.5, .5, .5}}
	e := &Eye{v: v, recipe: recipeOf(v)}
	token := func(id int32) (string, bool) { return texts[id], true }
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 160, 60))); err != nil {
		t.Fatal(err)
	}
	const one = "\n\n<start_of_image>" + "<image_soft_token><image_soft_token><image_soft_token>" + "<image_soft_token><image_soft_token><image_soft_token>" +
		"<image_soft_token><image_soft_token><image_soft_token>" + "<end_of_image>\n\n"
	for config, want := range map[string]string{
		`{}`: "a" + one + "b",
		`{"do_pan_and_scan": null, "pan_and_scan_min_crop_size": 16}`:  "a" + one + "b",
		`{"do_pan_and_scan": true}`:                                    "a" + one + "b", // parts would be smaller than 256
		`{"do_pan_and_scan": false, "pan_and_scan_min_crop_size": 16}`: "a" + one + "b",
		`{"do_pan_and_scan": true, "pan_and_scan_min_crop_size": 16, "pan_and_scan_max_num_crops": 3, "pan_and_scan_min_ratio_to_activate": 1.3}`: "a" +
			"Here is the original image " + one + " and here are some crops to help you see better " + one + " " + one + " " + one + "b",
	} {
		e.recipe = recipeOf(v)
		if err := e.recipe.Read([]byte(config)); err != nil {
			t.Fatal(err)
		}
		s, err := e.Measure(file.Bytes(), false)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := e.Text("a<start_of_image>b", nil, []*Seen{s}, token)
		if err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", config, got, want, err)
		}
		var ids []int32
		for i := range strings.Count(got, texts[0]) / 9 {
			ids = append(append(ids, int32(5+i)), make([]int32, 9)...)
		}
		places, err := e.Place(ids, []*Seen{s})
		if err != nil || len(places) != len(s.Pieces) {
			t.Errorf("%s: %d places of %d pieces (%v)", config, len(places), len(s.Pieces), err)
		}
	}
}
