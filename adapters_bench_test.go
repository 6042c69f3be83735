package atenia_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atenia"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// randomGGUFAdapter writes an adapter of a rank for every matrix of the layers of a GGUF
// file.
func randomGGUFAdapter(b *testing.B, model string, rank int, seed uint64) string {
	d, err := file.Open(model)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	rng := rand.New(rand.NewPCG(seed, 1))
	var tensors []file.TensorSource
	draw := func(name string, rows, cols int) {
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * 0.01)
		}
		tensors = append(tensors, file.SourceOf(name, tensor.FromF32(tensor.Shape{rows, cols}, x)))
	}
	for i := range d.Tensors {
		t := &d.Tensors[i]
		if s := t.View.Shape; len(s) == 2 && strings.HasPrefix(t.Name, "blk.") {
			draw(t.Name+".lora_a", rank, s[1])
			draw(t.Name+".lora_b", s[0], rank)
		}
	}
	var meta file.Metadata
	meta.Set("general.architecture", file.ValueOf("llama"))
	meta.Set("general.type", file.ValueOf("adapter"))
	meta.Set("adapter.type", file.ValueOf("lora"))
	meta.Set("adapter.lora.alpha", file.ValueOf(float32(rank)))
	path := filepath.Join(b.TempDir(), "adapter.gguf")
	if err := file.WriteGGUF(path, meta, tensors); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkAdapters measures, in turns, what adapters of rank 16 on all matrices cost: one
// stream, eight streams, and a prompt of 256 tokens, with the model in ATENIA_SERVING, a
// GGUF file. The ratios are of medians to the model alone.
func BenchmarkAdapters(b *testing.B) {
	path := os.Getenv("ATENIA_SERVING")
	if path == "" {
		b.Skip("ATENIA_SERVING names no GGUF file")
	}
	c := atenia.Config{Slots: 8, Context: 512, KeepBytes: -1}
	for _, name := range []string{"a0", "a1", "a2", "a3"} {
		c.Adapters = append(c.Adapters, atenia.Adapter{Name: name, Path: randomGGUFAdapter(b, path, 16, uint64(name[1]))})
	}
	m := served(b, &c)
	for _, k := range []struct {
		name                    string
		streams, prompt, tokens int
	}{{"stream", 1, 2, 24}, {"streams/8", 8, 2, 24}, {"prompt/256", 1, 256, 1}} {
		b.Run(k.name, func(b *testing.B) {
			took := make([][]time.Duration, 3) // no adapter, one, four
			for i := 0; b.Loop(); i++ {
				for kind, several := range []int{0, 1, min(4, k.streams)} {
					var wait sync.WaitGroup
					began := time.Now()
					for s := range k.streams {
						p := atenia.Prompt{Tokens: someTokens(m, 100*i+10*kind+s, k.prompt), Options: atenia.Options{MaxTokens: k.tokens}}
						if several > 0 {
							p.Adapter = c.Adapters[s%several].Name
						}
						wait.Go(func() { serveOne(b, m, p) })
					}
					wait.Wait()
					took[kind] = append(took[kind], time.Since(began))
				}
			}
			median := func(kind int) float64 {
				slices.Sort(took[kind])
				return took[kind][len(took[kind])/2].Seconds()
			}
			b.ReportMetric(median(0)*1e3, "ms-alone")
			b.ReportMetric(median(1)/median(0), "one/alone")
			b.ReportMetric(median(2)/median(0), "four/alone")
		})
	}
}
