package quila_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/quila"
)

// TestNestedCall: the body of a loop over an answer may call the model. Another answer
// has a session of its own, what is said around it is what is said without it, and
// after Close the loop ends with ErrClosed.
func TestNestedCall(t *testing.T) {
	path := fresh(t, nil)
	m, err := quila.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	answer := func(prompt string, inside func()) (codes []int32) {
		for tok, err := range m.Generate(t.Context(), prompt, quila.Generation{MaxTokens: 6, Temperature: 1, Seed: 5}) {
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, tok.Code)
			inside()
		}
		return codes
	}
	nothing := func() {}
	outer, inner := answer("outer", nothing), answer("inner", nothing)
	saved := filepath.Join(t.TempDir(), "saved.sxlm")
	got := answer("outer", func() {
		if got := answer("inner", nothing); !slices.Equal(got, inner) {
			t.Errorf("an answer inside is %v, want %v", got, inner)
		}
		if err := m.Save(t.Context(), saved); err != nil {
			t.Error(err)
		}
	})
	if !slices.Equal(got, outer) {
		t.Errorf("the answer around is %v, want %v", got, outer)
	}
	if _, err := os.Stat(saved); err != nil {
		t.Error(err)
	}
	closed := 0
	for _, err := range m.Generate(t.Context(), "a", quila.Generation{MaxTokens: 6}) {
		switch {
		case errors.Is(err, quila.ErrClosed):
			closed++
		case err != nil || closed > 0:
			t.Errorf("after Close: %v", err)
		default:
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if closed != 1 {
		t.Errorf("ErrClosed came %d times", closed)
	}
}
