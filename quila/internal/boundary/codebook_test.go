package boundary

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/text/token"
	"atenia/quila/internal/weights"
)

func normals(n int, tick uint64) []float32 {
	x := make([]float64, n)
	weights.Stream{Seed: 9, Tick: tick}.Normal(x)
	out := make([]float32, n)
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func frozen(t *testing.T, n, dim int) *Book {
	t.Helper()
	b, err := NewBook(normals(n*dim, 0), n, dim)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Freeze(nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestNearest compares the search with distances in float64, also where many
// rows are almost at the same distance.
func TestNearest(t *testing.T) {
	const n, dim, m = 301, 24, 200
	rows := normals(n*dim, 1)
	for i := 200; i < n; i++ { // a product cannot tell these rows apart
		copy(rows[i*dim:(i+1)*dim], rows[5*dim:6*dim])
		rows[i*dim+i%dim] *= 1 + float32(i/dim)*0x1p-22
	}
	b, err := NewBook(rows, n, dim)
	if err != nil {
		t.Fatal(err)
	}
	x := normals(m*dim, 2)
	copy(x, rows[200*dim:])
	got := make([]int32, m)
	if err := b.Nearest(Encoder, got, x); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		want, least := 0, math.Inf(1)
		for j := range n {
			if d := squared(x[i*dim:(i+1)*dim], b.Row(j)); d < least {
				want, least = j, d
			}
		}
		if int(got[i]) != want {
			t.Errorf("vector %d is nearest to %d, want %d", i, got[i], want)
		}
	}
	x[5] = float32(math.NaN())
	if err := b.Nearest(Encoder, got, x); !errors.Is(err, errCodebookShape) {
		t.Errorf("a vector with a NaN: %v", err)
	}
}

// TestFreeze checks what a frozen book refuses and detects.
func TestFreeze(t *testing.T) {
	b := frozen(t, 64, 16)
	if err := b.Set(3, make([]float32, 16)); !errors.Is(err, ErrFrozen) {
		t.Errorf("set: %v", err)
	}
	if err := b.Freeze(nil); !errors.Is(err, ErrFrozen) {
		t.Errorf("freeze again: %v", err)
	}
	if _, err := NewEMA(b, .99, 10); !errors.Is(err, ErrFrozen) {
		t.Errorf("learn: %v", err)
	}
	if _, err := Uniformise(b, make([]float32, 16), 1); !errors.Is(err, ErrFrozen) {
		t.Errorf("uniformise: %v", err)
	}
	if err := KMeans(b, make([]float32, 16), 1, weights.Stream{}); !errors.Is(err, ErrFrozen) {
		t.Errorf("k-means: %v", err)
	}
	if err := b.Verify(); err != nil {
		t.Error(err)
	}
	b.rows[1023]++
	if err := b.Verify(); !errors.Is(err, ErrSum) {
		t.Errorf("a row was written to: %v", err)
	}

	rows := normals(64*16, 0)
	copy(rows[16*40:], rows[16*7:16*8])
	twice, err := NewBook(rows, 64, 16)
	if err != nil {
		t.Fatal(err)
	}
	err = twice.Freeze(nil)
	if near, ok := errors.AsType[*closeError](err); !ok || !errors.Is(err, errClose) || near.A != 7 || near.B != 40 {
		t.Errorf("two equal rows: %v", err)
	}
	if twice.Frozen() {
		t.Error("a book with two equal rows is frozen")
	}
	rows[5] = float32(math.Inf(1))
	if err := twice.Freeze(nil); !errors.Is(err, errCodebookShape) {
		t.Errorf("an infinite value: %v", err)
	}
}

// TestCalls checks the counts and the errors of arguments.
func TestCalls(t *testing.T) {
	b := frozen(t, 8, 4)
	dst := make([]float32, 8)
	for _, c := range []Caller{Encoder, Decoder, Decoder, SCT, ToolReturn} {
		if err := b.Lookup(c, dst, []int32{7, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.Calls(), (Calls{1, 2, 1, 1}); got != want || got.Total() != 5 {
		t.Errorf("calls are %v, want %v", got, want)
	}
	for _, c := range []struct {
		err, want error
	}{
		{b.Lookup(0, dst, []int32{1, 2}), ErrCaller}, {b.Lookup(callers, dst, []int32{1, 2}), ErrCaller},
		{b.Lookup(SCT, dst, []int32{1, 8}), errCode}, {b.Lookup(SCT, dst, []int32{-1, 2}), errCode}, {b.Lookup(SCT, dst, []int32{1}), errCodebookShape},
		{b.Nearest(9, nil, nil), ErrCaller}, {b.Nearest(Decoder, make([]int32, 2), dst[:3]), errCodebookShape},
		{b.Logits(0, nil, nil, 1), ErrCaller}, {b.Logits(Decoder, dst[:1], dst[:4], 1), errCodebookShape},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("got %v, want %v", c.err, c.want)
		}
	}
	for _, c := range [][3]int{{0, 4, 0}, {maxRows + 1, 1, maxRows + 1}, {2, 0, 0}, {2, 2, 3}, {1 << 40, 1 << 40, 5}} {
		if _, err := NewBook(make([]float32, c[2]), c[0], c[1]); !errors.Is(err, errCodebookShape) {
			t.Errorf("New%v returns %v", c, err)
		}
	}
}

// TestLookupAllocates checks that reading a frozen book allocates nothing.
func TestLookupAllocates(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("counts allocations")
	}
	b := frozen(t, 64, 16)
	codes, x := []int32{1, 2, 63}, make([]float32, 48)
	if n := await.Allocs(20, func() {
		if b.Lookup(Encoder, x, codes) != nil || b.Nearest(Decoder, codes, x) != nil {
			t.Error("an error")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTokenizer checks texts, merges and the JSON of both kinds.
func TestTokenizer(t *testing.T) {
	plain, err := NewTokenizer(nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"merges":[],"specials":["BOS","EOS","PAD","SYS","USER","ASSISTANT","TOOL_OPEN","TOOL_CLOSE"],"type":"bytes"}`
	if got := string(plain.JSON()); got != want {
		t.Errorf("the JSON is\n%s\nwant\n%s", got, want)
	}
	if plain.Codes() != 264 || ToolClose != 263 {
		t.Errorf("%d codes, the last special is %d", plain.Codes(), ToolClose)
	}
	learned, err := Learn(func(yield func(string, error) bool) {
		for range 50 {
			if !yield("the cat and the hat and the bat sat; naïve €5\n", nil) {
				return
			}
		}
	}, 300)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("the cat and the hat")
	if codes := learned.Encode(text); len(codes) > len(text)/2 {
		t.Errorf("%d codes for %d bytes", len(codes), len(text))
	}
	for _, k := range []*Tokenizer{plain, learned} {
		again, err := ParseTokenizer(k.JSON())
		if err != nil || again.Codes() != k.Codes() {
			t.Errorf("%v", err)
		}
	}
	// The earliest merge wins, then the leftmost.
	k, err := NewTokenizer([][2]int32{{'b', 'c'}, {'a', 'b'}, {'a', 'a'}})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string][]int32{"abc": {'a', 264}, "ab": {265}, "aaa": {266, 'a'}, "aab": {'a', 265}} {
		if got := k.Encode([]byte(in)); !equal(got, want) {
			t.Errorf("%q is %v, want %v", in, got, want)
		}
	}
	if _, err := k.Decode([]int32{267}); !errors.Is(err, errCode) {
		t.Errorf("an unknown code: %v", err)
	}
	long := [][2]int32{{0, 0}}
	for i := range int32(13) {
		long = append(long, [2]int32{264 + i, 264 + i})
	}
	for _, bad := range [][][2]int32{{{256, 1}}, {{0, 264}}, {{-1, 0}}, {{1, 2}, {1, 2}}, long} {
		if _, err := NewTokenizer(bad); !errors.Is(err, errTokenizer) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "{}", want + " ", `{"merges":[],"specials":[],"type":"bytes"}`, `{"merges":null,` + want[13:], `{"merges":[[1]],` + want[13:], want[:len(want)-1] + `,"x":1}`} {
		if _, err := ParseTokenizer([]byte(bad)); !errors.Is(err, errTokenizer) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := Learn(token.TrainTexts(nil), 100); !errors.Is(err, errCode) {
		t.Errorf("fewer codes than bytes: %v", err)
	}
}

func equal(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// FuzzText checks that any bytes come back, and that merging is what merging one
// pair at a time gives.
func FuzzText(f *testing.F) {
	k, err := NewTokenizer([][2]int32{{'a', 'b'}, {264, 'a'}, {'a', 'a'}, {0, 0}, {266, 266}, {255, 0}, {'b', 264}})
	if err != nil {
		f.Fatal(err)
	}
	plain, err := NewTokenizer(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "a", "aababaaaabba", "bab", "bbabbab", "\x00\x00\x00\xff\x00", "€𝄞"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, k := range []*Tokenizer{plain, k} {
			codes := k.Encode(text)
			back, err := k.Decode(codes)
			if err != nil || !bytes.Equal(back, text) {
				t.Errorf("%q comes back as %q, %v", text, back, err)
			}
			if want := slowMerge(k, text); !equal(codes, want) {
				t.Errorf("%q is %v, want %v", text, codes, want)
			}
		}
	})
}

// slowMerge looks for the earliest merge anew each time.
func slowMerge(k *Tokenizer, text []byte) []int32 {
	var codes []int32
	for _, b := range text {
		codes = append(codes, int32(b))
	}
	for {
		at, best := -1, int32(math.MaxInt32)
		for i := range len(codes) - 1 {
			if c, ok := k.rank[[2]int32{codes[i], codes[i+1]}]; ok && c < best {
				at, best = i, c
			}
		}
		if at < 0 {
			return codes
		}
		codes = append(append(append([]int32(nil), codes[:at]...), best), codes[at+2:]...)
	}
}

// FuzzParse checks that no text of a tokenizer panics, and that what is accepted
// is written again as it was.
func FuzzParse(f *testing.F) {
	k, err := NewTokenizer([][2]int32{{'a', 'b'}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(k.JSON())
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParseTokenizer(text)
		if err != nil {
			return
		}
		if !bytes.Equal(k.JSON(), text) {
			t.Errorf("%s is written as %s", text, k.JSON())
		}
	})
}

func BenchmarkNearest(b *testing.B) {
	const n, dim, m = 8192, 128, 256
	book, err := NewBook(normals(n*dim, 0), n, dim)
	if err != nil {
		b.Fatal(err)
	}
	if err := book.Freeze(nil); err != nil {
		b.Fatal(err)
	}
	x, codes := normals(m*dim, 1), make([]int32, m)
	for b.Loop() {
		if err := book.Nearest(Encoder, codes, x); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*n*dim*m*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
