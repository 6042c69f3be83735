package sight

import (
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
	got, err := e.Text("a[IMG]b[IMG]a", seen, token)
	if err != nil {
		t.Fatal(err)
	}
	want := "a[IMG][IMG][IMG][IMG_BREAK][IMG][IMG][IMG][IMG_END]b[IMG][IMG][IMG_END]a"
	if got != want {
		t.Fatalf("%s, want %s", got, want)
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
