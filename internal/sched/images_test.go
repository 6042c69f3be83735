package sched

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/exec"
)

// seen makes an image of random rows.
func seen(seed uint64, grid [3]int, width int) *exec.Encoded {
	r := rand.New(rand.NewPCG(seed, 1))
	e := &exec.Encoded{Grid: grid, Rows: make([]float32, grid[0]*grid[1]*grid[2]*width)}
	for i := range e.Rows {
		e.Rows[i] = r.Float32() - 0.5
	}
	return e
}

// TestImagesTellPromptsApart serves prompts whose tokens are equal and whose
// images are not, one after the other: each gets the logits that it gets alone,
// whatever was cached before.
func TestImagesTellPromptsApart(t *testing.T) {
	for _, name := range []string{"qwen2_vl", "gemma3_vl"} {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			placeholder := int32(m.Config.Vision.ImageToken)
			grid := [3]int{1, 2, 2}
			prompt := []int32{20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}
			at := []int{len(prompt), len(prompt) + 6}
			prompt = append(prompt, placeholder, placeholder, placeholder, placeholder, 41, 42, placeholder, placeholder, placeholder, placeholder, 43, 44)
			request := func(first, second byte) Request {
				r := Request{Prompt: prompt}
				for i, h := range []byte{first, second} {
					r.Images = append(r.Images, Image{Hash: [32]byte{h}, Span: exec.Span{
						At: at[i], Len: 4, Grid: grid, Image: seen(uint64(h), grid, m.Config.Hidden)}})
				}
				return r
			}
			last := func(s *Scheduler, r Request) (logits []float32) {
				r.OnLogits = func(_ int, l []float32) { logits = slices.Clone(l) }
				st, err := s.Submit(context.Background(), r)
				if err != nil {
					t.Fatal(err)
				}
				st.Next()
				if st.Err() != nil {
					t.Fatal(st.Err())
				}
				return logits
			}
			s := m.start(small, Config{Slots: 1})
			for _, x := range [][2]byte{{1, 2}, {1, 3}, {4, 3}, {4, 3}, {1, 2}} {
				got := last(s, request(x[0], x[1]))
				want := last(m.start(small, Config{Slots: 1}), request(x[0], x[1]))
				if !slices.Equal(got, want) {
					t.Errorf("images %v: logits differ from those of a prompt alone", x)
				}
			}
			other := last(s, request(1, 2))
			if again := last(s, request(1, 5)); slices.Equal(other, again) {
				t.Error("another image gives the same logits")
			}
		})
	}
}

// TestSameImages cuts a common prefix where images begin to differ.
func TestSameImages(t *testing.T) {
	image := func(at, n int, h byte) Image { return Image{Span: exec.Span{At: at, Len: n}, Hash: [32]byte{h}} }
	a := []Image{image(2, 4, 1), image(10, 4, 2)}
	for _, x := range []struct {
		b     []Image
		n     int
		whole bool
		want  int
	}{
		{a, 20, false, 20}, {a, 12, false, 12}, {a, 12, true, 10}, {nil, 20, false, 2}, {nil, 1, false, 1},
		{[]Image{image(2, 4, 1)}, 20, false, 10}, {[]Image{image(2, 4, 1), image(10, 4, 3)}, 20, false, 10}, {[]Image{image(2, 4, 9), image(10, 4, 2)}, 20, true, 2},
		{[]Image{image(2, 4, 1), image(10, 4, 3)}, 8, false, 8},
	} {
		if got := sameImages(a, x.b, x.n, x.whole); got != x.want {
			t.Errorf("%d with %v (whole %t): %d, want %d", x.n, x.b, x.whole, got, x.want)
		}
		if got := sameImages(x.b, a, x.n, x.whole); got != x.want {
			t.Errorf("the other way round: %d, want %d", got, x.want)
		}
	}
}
