package token

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestShare: what is left of a pair is what the Rust library leaves with the
// strategy longest_first.
func TestShare(t *testing.T) {
	for _, x := range []struct{ a, b, room, keepA, keepB int }{
		{3, 10, 20, 3, 17}, {3, 10, 10, 3, 7}, {10, 3, 10, 7, 3}, {10, 10, 10, 5, 5}, {10, 10, 9, 4, 5}, {12, 10, 9, 5, 4}, {2, 50, 5, 2, 3}, {4, 50, 5, 2, 3},
	} {
		if got := share(x.a, x.b, x.room); !slices.Equal(got, []int{x.keepA, x.keepB}) {
			t.Errorf("%d and %d tokens in %d: keeps %v, want %d and %d", x.a, x.b, x.room, got, x.keepA, x.keepB)
		}
	}
}

const pairTokenizer = `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},
"post_processor":{"type":"BertProcessing","sep":["[SEP]",1],"cls":["[CLS]",0]},
"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
"vocab":{"[CLS]":0,"[SEP]":1,"[UNK]":2,"a":3,"b":4,"c":5}}}`

// TestEncodeWithin: special tokens stay, texts are cut at their end, and a text
// that fits is what EncodePair returns.
func TestEncodeWithin(t *testing.T) {
	k, err := Load([]byte(pairTokenizer))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		most       int
		texts      []string
		ids, types []int32
		cut        int
	}{
		{9, []string{"a b c"}, []int32{0, 3, 4, 5, 1}, []int32{0, 0, 0, 0, 0}, 0},
		{4, []string{"a b c"}, []int32{0, 3, 4, 1}, []int32{0, 0, 0, 0}, 1},
		{1, []string{"a b c"}, []int32{0, 1}, []int32{0, 0}, 3},
		{8, []string{"a", "b c a b"}, []int32{0, 3, 1, 4, 5, 3, 4, 1}, []int32{0, 0, 0, 1, 1, 1, 1, 1}, 0},
		{6, []string{"a", "b c a b"}, []int32{0, 3, 1, 4, 5, 1}, []int32{0, 0, 0, 1, 1, 1}, 2},
	} {
		f, err := k.EncodeWithin(t.Context(), x.most, x.texts...)
		if err != nil || !slices.Equal(f.IDs, x.ids) || !slices.Equal(f.Types, x.types) || f.Cut != x.cut || f.More {
			t.Errorf("%q in %d: %+v, %v; want %v %v, %d", x.texts, x.most, f, err, x.ids, x.types, x.cut)
		}
	}
}

// TestExceeds: a text is known to be too long by its beginning, and one that may fit is not
// said to be; long ones take turns, which a context ends.
func TestExceeds(t *testing.T) {
	tok, err := Load([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"WhitespaceSplit"}}`))
	if err != nil {
		t.Fatal(err)
	}
	m := &endingModel{end: func() {}}
	tok.model = m
	long := strings.Repeat("aaaa ", 100_000)
	if n, err := tok.Exceeds(t.Context(), 64, long); err != nil || n <= 64 || n > 2000 || m.words > 2000 {
		t.Errorf("%d tokens, %d words were read, %v", n, m.words, err)
	}
	for _, text := range []string{"", "aaaa", strings.Repeat("aaaa ", 64), strings.Repeat("a", 1<<20), strings.Repeat(" ", 1<<20)} {
		if n, err := tok.Exceeds(t.Context(), 64, text); err != nil || n != 0 {
			t.Errorf("%d bytes: %d tokens, %v", len(text), n, err)
		}
	}
	for range cap(turns) {
		turns <- struct{}{}
	}
	defer func() {
		for range cap(turns) {
			<-turns
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tok.EncodeContext(ctx, long, nil, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if ids, err := tok.EncodeContext(t.Context(), "aaaa aaaa", nil, true); err != nil || len(ids) != 2 {
		t.Errorf("a short text: %v, %v", ids, err)
	}
}
