package fit

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/lora"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
)

// goals yields batches of examples.
type goals struct {
	rows
	scores bool
}

func (g *goals) Next(b *data.Batch) error {
	*b = data.Batch{Lens: []int{3, 4, 2, 5}}
	for i := range int32(14) {
		b.Tokens, b.Labels = append(b.Tokens, 5+(g.at*11+i*7)%300), append(b.Labels, data.Ignored)
		b.Types = append(b.Types, i%2)
	}
	if g.at++; g.scores {
		b.Targets = []float32{1, 0, 0.5, 1}
		return nil
	}
	b.Types, b.Answers = nil, []int32{3, -1, 1, -1}
	return nil
}

// TestPagedEncoders: an encoder whose parameters are in files is trained to the same
// bytes, whole and by low-rank pairs.
func TestPagedEncoders(t *testing.T) {
	t.Parallel()
	for name, scores := range map[string]bool{"distilbert": false, "gemma_embedding": false, "modern_bert": false, "bert_rerank": true} {
		folder := filepath.Join(golden.Root(t), "testdata", "golden", "parity", name)
		for _, whole := range []bool{true, false} {
			run := func(a *ledger.Account) []byte {
				opt := ModelOptions{Rows: 14, Documents: 4}
				if a != nil {
					opt.Paged, opt.Room = true, &offload.Room{Account: a}
				}
				base, err := openModel(folder, opt)
				if err != nil {
					t.Fatal(err)
				}
				cfg, file := pageConfig(t, false, 0.5, 2), "model.safetensors"
				if !await.Long() {
					cfg.Steps = 3 // the first, one that is evaluated, and one after it
				}
				if cfg.Rate = 0.001; a != nil {
					if err := base.Keep(1); err != nil {
						t.Fatal(err)
					}
					if whole {
						cfg.Paging = &train.Paging{Account: a, ChunkBytes: 1 << 13}
					}
				}
				var m train.Exporter = base
				if !whole {
					file = lora.TensorsFile
					if m, err = adapt(base, lora.Config{Rank: 4, Base: folder}, 1, false); err != nil {
						t.Fatal(err)
					}
				}
				dir := t.TempDir()
				if _, err := train.Run(t.Context(), cfg, m, &goals{scores: scores}, &goals{scores: scores}); err != nil {
					t.Fatal(err)
				}
				if err := m.Export(nil, dir); err != nil {
					t.Fatal(err)
				}
				if err := base.Close(); err != nil {
					t.Fatal(err)
				}
				b, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			a := ledger.New(nil, 0)
			if !bytes.Equal(run(nil), run(a)) {
				t.Errorf("%s, whole %t: the models differ", name, whole)
			}
			if a.Held() != 0 {
				t.Errorf("%s: %d bytes are held at the end", name, a.Held())
			}
		}
	}
}
