package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/cli/command"
)

// TestVerifyReceipt: the command computes an answer again, says which token is another, and exits so
// that scripts know.
func TestVerifyReceipt(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var receipt json.RawMessage
	for tok, err := range m.Generate(context.Background(), atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{MaxTokens: 12, Sampling: atenia.Sampling{Temperature: 0.8, Seed: 3}, Receipt: "ids"}}) {
		if err != nil {
			t.Fatal(err)
		}
		receipt = tok.Receipt
	}
	var o map[string]any
	if err := json.Unmarshal(receipt, &o); err != nil {
		t.Fatal(err)
	}
	write := func(name string, v any) string {
		t.Helper()
		b, err := json.Marshal(v)
		path := filepath.Join(t.TempDir(), name)
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	ran := func(args ...string) (int, string, string) {
		var out, errw bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errw)
		return code, out.String(), errw.String()
	}
	whole := write("response.json", map[string]any{"id": "x", "receipt": o})
	if code, out, errw := ran("verify", whole); code != command.OK || !strings.Contains(out, "12 tokens") {
		t.Errorf("%d %q %q", code, out, errw)
	}
	answer := o["answer"].([]any)
	answer[4] = 7.0
	if code, out, errw := ran("verify", write("changed.json", o)); code != 3 || !strings.Contains(errw, "token 5 of 12") {
		t.Errorf("changed: %d %q %q", code, out, errw)
	}
	o["files"] = map[string]string{"atenia-story": "0"}
	if code, out, errw := ran("verify", write("other.json", o)); code != command.Failure || !strings.Contains(errw, "another model") {
		t.Errorf("another model: %d %q %q", code, out, errw)
	}
	if code, out, errw := ran("verify", write("none.json", []int{1})); code != command.Failure {
		t.Errorf("no receipt: %d %q %q", code, out, errw)
	}
}
