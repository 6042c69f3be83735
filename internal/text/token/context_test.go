package token

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// An endingModel calls end at its tenth word.
type endingModel struct {
	words int
	end   func()
}

func (m *endingModel) Tokenize(p Piece, s *Scratch) {
	if m.words++; m.words == 10 {
		m.end()
	}
	s.Toks = append(s.Toks, tok{ID: 0, B: int32(len(p.S))})
}

// TestEncodeContext: encoding ends soon after its context, whatever is left of the text,
// of one text or of a pair.
func TestEncodeContext(t *testing.T) {
	tok, err := Load([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"WhitespaceSplit"}}`))
	if err != nil {
		t.Fatal(err)
	}
	text := "a " + strings.Repeat("a", 100)
	ids, err := tok.EncodeContext(t.Context(), text, nil, true)
	if want := tok.Encode(text, true); err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v, want %v", ids, err, want)
	}
	long := strings.Repeat(strings.Repeat("a", stopEvery/4)+" ", 1000)
	for name, encode := range map[string]func(context.Context) error{
		"text": func(ctx context.Context) error { _, err := tok.EncodeContext(ctx, long, nil, true); return err },
		"pair": func(ctx context.Context) error { _, err := tok.EncodeWithin(ctx, 8, "a", long); return err },
	} {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &endingModel{end: func() { cancel(why) }}
		tok.model = m
		if err := encode(ctx); err != why || m.words < 10 || m.words > 14 {
			t.Errorf("%s: %v after %d words of 1000", name, err, m.words)
		}
	}
}
