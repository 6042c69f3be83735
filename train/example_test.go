package train_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"atenia"
	"atenia/train"
)

// A model of bytes learns a phrase and goes on with it.
func Example() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	text := filepath.Join(dir, "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("to and fro, ", 200)), 0o600); err != nil {
		panic(err)
	}
	r := &train.Recipe{}
	r.Model.Hidden, r.Model.Layers = 64, 1
	r.Data.Files, r.Data.Row, r.Data.Rows = []string{text}, 48, 4
	r.Optimizer.Rate = 0.003
	r.Train.Steps, r.Train.Out = 200, filepath.Join(dir, "out")
	if err := r.Complete(); err != nil {
		panic(err)
	}
	ctx := context.Background()
	rep, err := train.Run(ctx, r, train.Options{})
	if err != nil {
		panic(err)
	}
	m, err := atenia.Open(ctx, rep.Out, nil)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	out, err := m.Complete(ctx, atenia.Prompt{Text: "to and fro, to ", Options: atenia.Options{MaxTokens: 8}})
	if err != nil {
		panic(err)
	}
	fmt.Println(rep.Steps, "steps:", out.Text)
	// Output: 200 steps: and fro,
}
