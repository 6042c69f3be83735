package conform

import (
	"bytes"
	"errors"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/weights"
)

// textBook is the codebook of text as a new network has it, frozen.
func textBook(t *report) *boundary.Book {
	c, err := config.Profile("nano")
	t.Must(err)
	set := weights.Init(&c, 4, 1)
	b, err := boundary.NewBook(set.Of("codebook.text"), c.V, c.DE)
	t.Must(err)
	t.Must(b.Freeze(nil))
	return b
}

func exactText(t *report) {
	b := textBook(t)
	plain, err := boundary.NewTokenizer(nil)
	t.Must(err)
	if plain.Codes() != b.Len() {
		t.Errorf("%d codes and %d rows", plain.Codes(), b.Len())
	}
	merged, err := boundary.Learn(func(yield func(string, error) bool) {
		for range 20 {
			if !yield("12+35=47. the red box is in the kitchen; the blue box is in the garden.\n", nil) {
				return
			}
		}
	}, 320)
	t.Must(err)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	texts := [][]byte{nil, all, []byte("the red box, 12+35=47"), []byte("naïve €5 𝄞\x00\xff\xfe"), bytes.Repeat([]byte("the box "), 100)}
	for i := range uint64(200) {
		w := weights.Stream{Seed: 3, Tick: i, Site: weights.Corpus}.Words(60)
		text := make([]byte, w[0]%58)
		for j := range text {
			text[j] = byte(w[1+j])
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		for _, k := range []*boundary.Tokenizer{plain, merged} {
			if back, err := k.Decode(k.Encode(text)); err != nil || !bytes.Equal(back, text) {
				t.Fatalf("%q comes back as %q, %v", text, back, err)
			}
		}
		// Through vectors: look up the rows, find the nearest, write the bytes.
		codes := plain.Encode(text)
		rows, nearest := make([]float32, len(codes)*b.Dim()), make([]int32, len(codes))
		t.Must(b.Lookup(boundary.Encoder, rows, codes))
		t.Must(b.Nearest(boundary.Decoder, nearest, rows))
		if !slices.Equal(nearest, codes) {
			t.Fatalf("%q: the nearest rows of its rows are %v, want %v", text, nearest, codes)
		}
	}
	again, err := boundary.ParseTokenizer(merged.JSON())
	t.Must(err)
	if !slices.Equal(again.Merges(), merged.Merges()) {
		t.Errorf("the merges do not come back from their text")
	}
	t.Figure("%d texts, rows at least %.2f apart, %d merges", len(texts), b.Gap(), len(merged.Merges()))
}

// clusters are vectors about so many centres, some of which have many.
func clusters(n, dim, centres int) []float32 {
	c, noise := drawnNormals(centres*dim, 100), drawnNormals(n*dim, 101)
	w := weights.Stream{Seed: 5, Site: weights.Corpus}.Words(n)
	x := make([]float32, n*dim)
	for i := range n {
		// The square makes low centres likely: usage is uneven.
		u := float64(w[i]) * 0x1p-32
		at := int(u * u * float64(centres))
		for d := range dim {
			x[i*dim+d] = float32(c[at*dim+d] + .3*noise[i*dim+d])
		}
	}
	return x
}

func uniformity(t *report) {
	const n, dim, codes = 6000, 8, 64
	x := clusters(n, dim, 40)
	b, err := boundary.NewBook(make([]float32, codes*dim), codes, dim)
	t.Must(err)
	// A collapsed book, as training may leave it: most rows far from all vectors.
	for i := range codes {
		row := b.Row(i)
		copy(row, x[i*dim:(i+1)*dim])
		if i >= 16 {
			for d := range row {
				row[d] += 50
			}
		}
	}
	r, err := boundary.Uniformise(b, x, 1)
	t.Must(err)
	t.Figure("perplexity %.1f to %.1f of %d, squared error × %.2f, %d rows moved", r.PerplexityBefore, r.PerplexityAfter, codes, r.MSEAfter/r.MSEBefore, r.Moved)
	if !(r.PerplexityAfter > 1.2*r.PerplexityBefore) {
		t.Errorf("perplexity goes from %.1f to %.1f", r.PerplexityBefore, r.PerplexityAfter)
	}
	t.Within("squared error after ÷ before", r.MSEAfter/r.MSEBefore, 1.05)
	// What is reported is what a search finds.
	t.Must(b.Freeze(r.Usage))
	found := make([]int32, n)
	t.Must(b.Nearest(boundary.Encoder, found, x))
	usage := make([]uint64, codes)
	for _, c := range found {
		usage[c]++
	}
	if !slices.Equal(usage, b.Usage()) {
		t.Errorf("the recorded usage is not that of the vectors")
	}
}

func callers(t *report) {
	b := textBook(t)
	row, code := make([]float32, b.Dim()), make([]int32, 1)
	logits := make([]float32, b.Len())
	want := boundary.Calls{}
	for i, c := range []boundary.Caller{boundary.Encoder, boundary.Decoder, boundary.SCT, boundary.ToolReturn} {
		for range i + 1 {
			t.Must(b.Lookup(c, row, []int32{7}))
		}
		t.Must(b.Nearest(c, code, row))
		t.Must(b.Logits(c, logits, row, 1))
		*[]*uint64{&want.Encoder, &want.Decoder, &want.SCT, &want.ToolReturn}[i] = uint64(i + 3)
	}
	if got := b.Calls(); got != want || got.Total() != 3+4+5+6 {
		t.Errorf("calls are %+v, want %+v", got, want)
	}
	for _, c := range []boundary.Caller{0, 5, 255} {
		if err := b.Lookup(c, row, []int32{7}); !errors.Is(err, boundary.ErrCaller) {
			t.Errorf("caller %v: %v", c, err)
		}
	}
	if got := b.Calls(); got != want {
		t.Errorf("refused calls are counted")
	}
	t.Figure("four callers, %d calls", want.Total())
}

func frozen(t *report) {
	b := textBook(t)
	sum := b.Sum()
	row := make([]float32, b.Dim())
	if err := b.Set(5, row); !errors.Is(err, boundary.ErrFrozen) {
		t.Errorf("a write: %v", err)
	}
	if _, err := boundary.NewEMA(b, .99, 10); !errors.Is(err, boundary.ErrFrozen) {
		t.Errorf("learning: %v", err)
	}
	if _, err := boundary.Uniformise(b, b.Rows(), 1); !errors.Is(err, boundary.ErrFrozen) {
		t.Errorf("uniformising: %v", err)
	}
	for i := range 10 {
		t.Must(b.Lookup(boundary.Encoder, row, []int32{int32(i)}))
		t.Must(b.Nearest(boundary.Decoder, make([]int32, 1), row))
	}
	t.Must(b.Verify())
	if b.Sum() != sum {
		t.Errorf("the hash changed")
	}
	b.Rows()[77]++ // behind the book's back
	if err := b.Verify(); !errors.Is(err, boundary.ErrSum) {
		t.Errorf("a change behind the book's back: %v", err)
	}
	b.Rows()[77]--
	t.Must(b.Verify())
	t.Figure("SHA-256 %x…", sum[:4])
}
