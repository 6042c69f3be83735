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

// TestEncodeContext: encoding ends soon after its context, whatever is left of the text.
func TestEncodeContext(t *testing.T) {
	tok, err := Load([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"WhitespaceSplit"}}`))
	if err != nil {
		t.Fatal(err)
	}
	text := "a " + strings.Repeat("a", 100)
	ids, err := tok.EncodeContext(t.Context(), text, true)
	if want := tok.Encode(text, true); err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v, want %v", ids, err, want)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &endingModel{end: func() { cancel(why) }}
	tok.model = m
	word := strings.Repeat("a", stopEvery/4) + " "
	if _, err := tok.EncodeContext(ctx, strings.Repeat(word, 1000), true); err != why || m.words < 10 || m.words > 14 {
		t.Errorf("%v after %d words of 1000", err, m.words)
	}
}
