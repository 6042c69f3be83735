package atenia_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/train"
)

// encoderFolder copies a fixture, beside which a test may write.
func encoderFolder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Root(t), "testdata", "golden", "parity", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asked are queries and the documents that answer them.
var asked = [][2]string{
	{"boil an egg", "seven minutes in hot water"}, {"capital of France", "Paris"}, {"who wrote Faust", "Goethe did"},
	{"colour of snow", "it is white"}, {"legs of a spider", "eight"}, {"largest planet", "Jupiter, by far"},
}

func askedLines() (lines string) {
	for _, p := range asked {
		lines += fmt.Sprintf("{\"query\":%q,\"positive\":%q}\n", p[0], p[1])
	}
	return lines
}

// contrast returns the mean loss of the queries of pairs at a temperature, and how many
// find their answer, from the vectors that Embed returns.
func contrast(t *testing.T, m *atenia.Model, pairs [][2]string, temperature float64) (loss float64, found int) {
	t.Helper()
	e, _ := m.Encoding()
	embed := func(name string, which int) [][]float32 {
		var texts []string
		for _, p := range pairs {
			texts = append(texts, p[which])
		}
		if e.Prompts[name] == "" {
			name = ""
		}
		v, err := m.Embed(t.Context(), texts, atenia.EmbedOptions{Prompt: name})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	queries, documents := embed("query", 0), embed("document", 1)
	for i, q := range queries {
		all, best := 0.0, 0
		for j, d := range documents {
			c := cosine(q, d)
			if all += math.Exp(c / temperature); c > cosine(q, documents[best]) {
				best = j
			}
		}
		loss += (math.Log(all) - cosine(q, documents[i])/temperature) / float64(len(queries))
		if best == i {
			found++
		}
	}
	return loss, found
}

// begins checks that the first step's loss is that of the vectors of the model itself.
func begins(t *testing.T, model string, rep *train.Report, temperature float64) {
	t.Helper()
	m, err := atenia.Open(t.Context(), model, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if loss, _ := contrast(t, m, asked, temperature); !(math.Abs(loss-rep.Metrics[0].Loss) <= 1e-3*loss) {
		t.Errorf("the first step has a loss of %v, the vectors of Embed one of %v", rep.Metrics[0].Loss, loss)
	}
}

// lossOf returns the loss of one step of a run from a folder that changes nothing.
func lossOf(t *testing.T, model, lines string, rows int) float64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "again")
	_, rep, err := tuned(t, model, lines, func(r *train.Recipe) {
		r.LoRA, r.Train.Steps, r.Optimizer.Rate, r.Train.Out, r.Data.Rows = train.LoRA{}, 1, 1e-30, out, rows
	}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep.Loss
}

// TestTrainVectors: pairs teach encoders which document answers a query. The adapter
// and the merged folder give the vectors that the loss was computed of, and a run that is
// resumed ends with the same bytes.
func TestTrainVectors(t *testing.T) {
	for _, name := range []string{"gemma_embedding", "distilbert", "nomic_bert", "modern_bert", "roberta", "qwen3_embedding"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := encoderFolder(t, name)
			out, rep, err := tuned(t, model, askedLines(), func(r *train.Recipe) {
				r.Data.Rows, r.LoRA.Merge, r.Optimizer.Rate, r.Train.Steps = len(asked), true, 0.01, steps(22, 80)
			}, train.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if first := rep.Metrics[0].Loss; !(rep.Loss < 0.3*first) {
				t.Errorf("the loss went from %v to %v in %d steps", first, rep.Loss, rep.Steps)
			}
			begins(t, model, rep, 0.05)
			merged := filepath.Join(out, "merged")
			if rep.Merged != merged {
				t.Errorf("merged into %q", rep.Merged)
			}
			want := lossOf(t, merged, askedLines(), len(asked))
			for _, c := range []struct{ dir, adapter string }{{model, out}, {merged, ""}} {
				m, err := atenia.Open(t.Context(), c.dir, &atenia.Config{Adapter: c.adapter})
				if err != nil {
					t.Fatal(err)
				}
				loss, found := contrast(t, m, asked, 0.05)
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				if found != len(asked) || !(math.Abs(loss-want) <= 1e-3) {
					t.Errorf("%s %s: %d of %d queries find their answer, the loss of Embed's vectors is %v, that of training %v", c.dir, c.adapter, found, len(asked), loss, want)
				}
			}
		})
	}
}

// TestTrainAllOfVectors: with all weights trained, the folder of the result has the
// pooling, the projections and the prompts, and a stopped run is resumed.
func TestTrainAllOfVectors(t *testing.T) {
	model := encoderFolder(t, "gemma_embedding")
	out, rep, err := tuned(t, model, askedLines(), func(r *train.Recipe) {
		r.LoRA, r.Train.Steps, r.Optimizer.Rate, r.Data.Rows, r.Train.Temperature = train.LoRA{}, steps(20, 40), 0.003, len(asked), 0.2
	}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first := rep.Metrics[0].Loss; !(rep.Loss < 0.7*first) {
		t.Errorf("the loss went from %v to %v", first, rep.Loss)
	}
	begins(t, model, rep, 0.2)
	for _, name := range []string{"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "3_Dense/model.safetensors", "modules.json"} {
		before, err := os.ReadFile(filepath.Join(model, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if weights := filepath.Ext(name) == ".safetensors"; slices.Equal(before, after) == weights {
			t.Errorf("%s: equal %v", name, !weights)
		}
	}
	m, err := atenia.Open(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	loss, _ := contrast(t, m, asked, 0.05)
	if want := lossOf(t, out, askedLines(), len(asked)); !(math.Abs(loss-want) <= 1e-3) {
		t.Errorf("the loss of Embed's vectors is %v, that of training %v", loss, want)
	}
}

// TestTrainVectorsResumed: a run that was stopped ends with the same bytes.
func TestTrainVectorsResumed(t *testing.T) {
	model := encoderFolder(t, "gemma_embedding")
	resumes(t, model, askedLines())
}

// TestTrainHeldOut: evaluations say how many held-out queries find their answer.
func TestTrainHeldOut(t *testing.T) {
	t.Parallel()
	var seen []float64
	_, rep, err := tuned(t, encoderFolder(t, "distilbert"), askedLines(), func(r *train.Recipe) {
		r.Data.Heldout, r.Train.Steps, r.Train.EvalEvery, r.Data.Rows = 0.5, 20, 10, 3
	}, train.Options{Watch: func(e train.Event) {
		if e.Accuracy != nil {
			seen = append(seen, *e.Accuracy)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := rep.Metrics[len(rep.Metrics)-1]
	if len(seen) != 2 || m.Eval == nil || m.Accuracy == nil || *m.Accuracy != seen[1] || math.Abs(3*seen[1]-math.Round(3*seen[1])) > 1e-9 {
		t.Errorf("accuracies %v, the log ends with %+v", seen, m)
	}
}

// TestTrainScores: pairs with labels teach a cross-encoder which documents are
// relevant, and Rerank with the adapter says so.
func TestTrainScores(t *testing.T) {
	for _, name := range []string{"bert_rerank", "modern_bert_rerank", "xlm_roberta_rerank"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, lines := encoderFolder(t, name), ""
			for i, p := range asked[:4] {
				lines += fmt.Sprintf("{\"query\":%q,\"document\":%q,\"label\":1}\n{\"query\":%q,\"document\":%q,\"label\":0}\n", p[0], p[1], p[0], asked[(i+1)%4][1])
			}
			out, rep, err := tuned(t, model, lines, func(r *train.Recipe) {
				r.Data.Rows, r.LoRA.Merge, r.Optimizer.Rate, r.Train.Steps = 8, true, 0.01, steps(40, 150)
			}, train.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !(rep.Loss < 0.3) {
				t.Errorf("the loss is %v", rep.Loss)
			}
			m, err := atenia.Open(t.Context(), model, &atenia.Config{Adapter: out})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			loss := 0.0
			for i, p := range asked[:4] {
				ranked, err := m.Rerank(t.Context(), p[0], []string{asked[(i+1)%4][1], p[1]}, atenia.EmbedOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if ranked[0].Index != 1 || !(ranked[0].Score > 0 && ranked[1].Score < 0) {
					t.Errorf("%q: %+v", p[0], ranked)
				}
				loss -= (math.Log(ranked[0].Probability()) + math.Log(1-ranked[1].Probability())) / 8
			}
			if want := lossOf(t, filepath.Join(out, "merged"), lines, 8); !(math.Abs(loss-want) <= 1e-4) {
				t.Errorf("the loss of Rerank's scores is %v, that of training %v", loss, want)
			}
		})
	}
}

// TestTrainMiniLM: pairs of rank 8 teach the published model which second half belongs
// to the first half of a text, and it gives the vectors that it was trained for.
func TestTrainMiniLM(t *testing.T) {
	_, texts := miniLM(t, nil)
	var pairs [][2]string
	lines := ""
	for _, s := range texts {
		words := strings.Fields(s)
		if len(words) < 8 || len(words) > 24 || len(s) > 160 || len(pairs) == 12 {
			continue
		}
		half := len(words) / 2
		p := [2]string{strings.Join(words[:half], " "), strings.Join(words[half:], " ")}
		line, err := json.Marshal(map[string]string{"query": p[0], "positive": p[1]})
		if err != nil {
			t.Fatal(err)
		}
		pairs, lines = append(pairs, p), lines+string(line)+"\n"
	}
	if len(pairs) < 8 {
		t.Fatalf("%d texts", len(pairs))
	}
	dir := os.Getenv("ATENIA_MINILM")
	model := filepath.Join(t.TempDir(), "model")
	if err := os.Symlink(dir, model); err != nil {
		t.Skip(err)
	}
	out, rep, err := tuned(t, model, lines, func(r *train.Recipe) {
		r.Data.Rows, r.Optimizer.Rate, r.Train.Steps, r.Train.SaveEvery = len(pairs), 1e-3, 5, 5
	}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	after := 0.0
	for _, adapter := range []string{"", out} {
		m, err := atenia.Open(t.Context(), dir, &atenia.Config{Adapter: adapter})
		if err != nil {
			t.Fatal(err)
		}
		loss, found := contrast(t, m, pairs, 0.05)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("adapter %t: loss %.4f, %d of %d find their answer", adapter != "", loss, found, len(pairs))
		if first := rep.Metrics[0].Loss; adapter == "" && !(math.Abs(loss-first) <= 1e-3*first) {
			t.Errorf("the loss of Embed's vectors is %v, that of the first step %v", loss, first)
		}
		after = loss
	}
	if first := rep.Metrics[0].Loss; !(after < 0.7*first) {
		t.Errorf("the loss went from %v to %v", first, after)
	}
}
