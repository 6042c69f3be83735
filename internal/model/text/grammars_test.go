package text

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/sample"
)

// TestGrammarsBeside: a schema that is being compiled holds nobody up but those who ask
// for the same, who get what it becomes; what could not be compiled is not kept.
func TestGrammarsBeside(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(golden.Family(t, "parity"), "llama3", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := folder(`{"model_type":"llama"}`, map[string]string{"tokenizer.json": string(b)})
	text, err := Load(d)
	if err != nil {
		t.Fatal(err)
	}
	const vocab = 512
	var g Grammars
	slow := &keptGrammar{key: `s{"type":"string"}`, done: make(chan struct{})} // another request compiles it
	g.kept = append(g.kept, slow)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			schema := fmt.Appendf(nil, `{"type":"object","properties":{"a%d":{"type":"integer"}}}`, i%2)
			if _, err := g.Constrain(t.Context(), text, vocab, schema, ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait() // beside the slow one
	if len(g.kept) != 3 {
		t.Errorf("%d are kept, want 3", len(g.kept))
	}
	var start func() sample.Constraint
	all.Go(func() { start, err = g.Constrain(t.Context(), text, vocab, []byte(`{"type":"string"}`), "") })
	made, err2 := g.compile(t.Context(), text, vocab, []byte(`{"type":"string"}`), "")
	if err2 != nil {
		t.Fatal(err2)
	}
	slow.a = made
	close(slow.done)
	all.Wait()
	if err != nil || start == nil {
		t.Errorf("the same schema: %v", err)
	}
	// Compiling needs nothing that those hold who ask or leave meanwhile.
	k := g.join(t.Context(), text, vocab, []byte(`{"type":"boolean"}`), "")
	g.mu.Lock()
	await.Value(t, "a schema beside the lock", k.done)
	g.kept = g.kept[1:]
	g.mu.Unlock()
	if _, err := g.Constrain(t.Context(), text, vocab, []byte(`{"type":"strin"}`), ""); err == nil || len(g.kept) != 3 {
		t.Errorf("a bad schema: %v, %d are kept", err, len(g.kept))
	}
}

// TestGrammarsLeave: who waits for a schema leaves when it is cancelled; the last one to
// leave ends the work, and who comes then begins anew.
func TestGrammarsLeave(t *testing.T) {
	ended := false
	var g Grammars
	slow := &keptGrammar{key: "gx", done: make(chan struct{}), stop: func() { ended = true }}
	g.kept = append(g.kept, slow)
	why := errors.New("the client left")
	for i := range 2 {
		slow.waiting += 1 - i // beside another, then alone
		ctx, leave := context.WithCancelCause(t.Context())
		leave(why)
		if _, err := g.Constrain(ctx, nil, 0, nil, "x"); !errors.Is(err, why) {
			t.Errorf("%v, want why it was cancelled", err)
		}
		if last := i == 1; ended != last || (len(g.kept) == 0) != last {
			t.Errorf("client %d left: ended %v, %d are kept", i, ended, len(g.kept))
		}
		slow.waiting = 0
	}
}
