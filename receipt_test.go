package atenia_test

import (
	"encoding/json"
	"errors"
	"testing"

	"atenia"
)

// FuzzReceipt: whatever a receipt says, it is refused with an error or verified; the model goes on.
func FuzzReceipt(f *testing.F) {
	m, err := atenia.Open(f.Context(), "", &atenia.Config{Threads: 1, Context: 64})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { m.Close() })
	var whole json.RawMessage
	for t, err := range m.Generate(f.Context(), atenia.Prompt{Text: "Once", Options: atenia.Options{MaxTokens: 4, Receipt: "ids", Sampling: atenia.Sampling{Temperature: 1, Seed: 2, LogitBias: map[int32]float32{3: 1.5}}}}) {
		if err != nil {
			f.Fatal(err)
		}
		whole = t.Receipt
	}
	f.Add([]byte(whole))
	f.Add([]byte(`{"receipt":` + string(whole) + `}`))
	f.Add([]byte(`{"version":1,"prompt":[1],"prompt_tokens":1,"prompt_sha256":"","answer":[1e9]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, _, err := atenia.ReceiptOf(b)
		if err != nil {
			if !errors.Is(err, atenia.ErrReceipt) {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		if at, _, err := m.Verify(t.Context(), raw, nil); err == nil && at < -1 {
			t.Errorf("%q: %d", b, at)
		}
	})
}
