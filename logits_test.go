package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"atenia"
)

// TestNestedLogits: the function that gets rows of logits may use the model: answers
// and other rows inside it are those of a model that does nothing else, and so are the
// rows around them, all at once and token by token, also where all slots are taken.
func TestNestedLogits(t *testing.T) {
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) { nestedLogits(t, slots) })
	}
}

func nestedLogits(t *testing.T, slots int) {
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Slots: slots, Threads: 1})
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
			if rows++; rows%20 != 1 {
				return
			}
			if got, err := m.Tokenize("The cat"); err != nil || len(got) == 0 {
				t.Errorf("tokens inside are %v, %v", got, err)
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

// TestLeaveLogits: a function that gets rows may close the model or cancel its own
// request, which then ends without the rows to come, and a panic of it leaves no slot
// taken.
func TestLeaveLogits(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Slots: 1, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tokens, err := m.Tokenize("Once upon a time there was a little dog")
	if err != nil {
		t.Fatal(err)
	}
	o := atenia.LogitsOptions{All: true, Step: 2}
	each := func(ctx context.Context, f func(row int)) (rows int, err error) {
		err = m.EachLogits(ctx, tokens, o, func(row int, _ []float32) {
			rows++
			f(row)
		})
		return rows, err
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	if rows, err := each(ctx, func(row int) {
		if row == 3 {
			cancel(why)
		}
	}); !errors.Is(err, why) || rows != 4 {
		t.Errorf("cancelled: %d rows, %v", rows, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = each(t.Context(), func(int) { panic("in a function") })
	}()
	if rows, err := each(t.Context(), func(int) {}); rows != len(tokens) || err != nil {
		t.Errorf("after a panic: %d rows, %v", rows, err)
	}
	if rows, err := each(t.Context(), func(row int) {
		if row == 3 {
			m.Close()
		}
	}); !errors.Is(err, atenia.ErrClosed) || rows != 4 {
		t.Errorf("closed: %d rows, %v", rows, err)
	}
}
