package tape_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"atenia/grad"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"
)

// A llama is the shape of a model to measure with.
type llama struct{ hidden, layers, heads, ffn, vocab int }

var (
	llama5M  = llama{256, 5, 8, 688, 4096}
	llama60M = llama{512, 12, 8, 2048, 16384}
)

// open makes a model of the shape with random values.
func (l llama) open(t testing.TB) *tape.Model[float32] {
	config := fmt.Sprintf(`{"model_type":"llama","hidden_size":%d,"num_hidden_layers":%d,"num_attention_heads":%d,"num_key_value_heads":%d,"intermediate_size":%d,"vocab_size":%d,"tie_word_embeddings":true,"max_position_embeddings":2048}`,
		l.hidden, l.layers, l.heads, l.heads, l.ffn, l.vocab)
	m, err := compile.Compile(&file.Description{Format: file.HuggingFace, Config: []byte(config)}, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tape.NewParams[float32](m, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	n := 0
	for _, q := range p.All() {
		n += len(q.Value)
		for i := range q.Value {
			q.Value[i] = float32(rng.NormFloat64()) * 0.02
			if len(q.Shape) == 1 {
				q.Value[i] = 1
			}
		}
	}
	x, err := tape.New(m, p)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// batch is rows of random tokens that all count.
func (l llama) batch(rows, length int) *tape.Batch {
	rng := rand.New(rand.NewPCG(3, 4))
	b := &tape.Batch{}
	for range rows {
		b.Lens = append(b.Lens, length)
		for range length {
			b.Tokens = append(b.Tokens, int32(rng.IntN(l.vocab)))
			b.Labels = append(b.Labels, int32(rng.IntN(l.vocab)))
		}
	}
	return b
}

// BenchmarkStep is a forward and a backward pass over 8 rows of 256 tokens, and
// the forward pass alone.
func BenchmarkStep(b *testing.B) {
	for _, size := range []struct {
		name string
		llama
	}{{"5M", llama5M}, {"60M", llama60M}} {
		for _, mode := range []string{"forward", "step", "recompute"} {
			b.Run(size.name+"/"+mode, func(b *testing.B) {
				m, batch := size.open(b), size.batch(8, 256)
				p := grad.NewThreads(2)
				defer p.Close()
				m.Recompute, m.Threads = mode == "recompute", p
				t := grad.New(m.Registry(), grad.Recording(mode != "forward"), grad.WithThreads(p))
				var forward, back time.Duration
				for b.Loop() {
					t.Reset()
					began := time.Now()
					loss, err := m.Loss(t, batch)
					forward += time.Since(began)
					if err == nil && mode != "forward" {
						err = t.Backward(loss)
					}
					back += time.Since(began)
					if err != nil {
						b.Fatal(err)
					}
				}
				if mode == "step" {
					b.ReportMetric(float64(back-forward)/float64(forward), "back/forward")
				}
				b.ReportMetric(float64(m.Bytes(t))/(1<<20), "MiB")
				b.ReportMetric(float64(len(batch.Tokens))*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}
