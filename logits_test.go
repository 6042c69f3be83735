package atenia_test

import (
	"slices"
	"testing"

	"atenia"
)

// TestNestedLogits: the function that gets rows of logits may use the model: answers
// and other rows inside it are those of a model that does nothing else, and so are the
// rows around them, all at once and token by token.
func TestNestedLogits(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Slots: 2, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tokens, err := m.Tokenize("Once upon a time there was a little dog who liked to run in the park with all of its friends, the cat and the bird")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{0, 3} {
		o := atenia.LogitsOptions{All: true, Step: step}
		want, err := m.Logits(t.Context(), tokens, o)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := m.Logits(t.Context(), tokens[2:9], atenia.LogitsOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var answer []int32
		ask := func() (ids []int32) {
			for tok, err := range m.Generate(t.Context(), atenia.Prompt{Text: "The cat", Options: atenia.Options{MaxTokens: 3}}) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tok.ID)
			}
			return ids
		}
		answer = ask()
		rows := 0
		err = m.EachLogits(t.Context(), tokens, o, func(row int, logits []float32) {
			if row != rows || !slices.Equal(logits, want[row]) {
				t.Errorf("step %d: row %d differs, or comes as number %d", step, row, rows)
			}
			if rows++; rows%9 != 1 {
				return
			}
			if got := ask(); !slices.Equal(got, answer) {
				t.Errorf("an answer inside is %v, want %v", got, answer)
			}
			if got, err := m.Logits(t.Context(), tokens[2:9], atenia.LogitsOptions{}); err != nil || !slices.Equal(got[0], alone[0]) {
				t.Errorf("logits inside differ, %v", err)
			}
			if !slices.Equal(logits, want[row]) {
				t.Error("the row has changed since")
			}
		})
		if err != nil || rows != len(tokens) {
			t.Errorf("%d rows, want %d: %v", rows, len(tokens), err)
		}
	}
}
