package planned

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"atenia/grad"
	"atenia/internal/memory/ledger"
	"atenia/internal/store/faultfs"
	"atenia/internal/train"
)

// export trains a model and returns the file it writes.
func export(t *testing.T, m *Model, cfg train.Config) []byte {
	t.Helper()
	dir := t.TempDir()
	_, err := train.Run(t.Context(), cfg, m, &counting{}, &counting{})
	if err == nil {
		err = m.Export(dir)
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pageConfig(t *testing.T, bf16 bool, clip float64, accumulate int) train.Config {
	return train.Config{
		Rule: grad.AdamW{Decay: 0.1}, Rate: 0.01, Clip: clip, Steps: 5, Accumulate: accumulate, BF16: bf16, EvalEvery: 2, EvalBatches: 2,
		Schedule: grad.Schedule{Curve: grad.Constant}, Dir: t.TempDir(), FS: faultfs.NoSync(),
	}
}

// TestPaged trains in files with any amount of memory: the exported model is
// byte for byte that of the run in memory.
func TestPaged(t *testing.T) {
	t.Parallel()
	for _, untied := range []bool{false, true} {
		for _, bf16 := range []bool{false, true} {
			for _, c := range []struct {
				clip       float64
				accumulate int
			}{{0, 1}, {0.5, 1}, {0.5, 3}} {
				s := sizes
				s.Untied = untied
				want := export(t, newModel(t, s, Options{BF16: bf16}), pageConfig(t, bf16, c.clip, c.accumulate))
				for _, gradients := range []int64{0, 3000, 1 << 30} {
					for _, keep := range []int{0, 1, 3} {
						name := fmt.Sprintf("untied %v/bf16 %v/clip %v/batches %d/gradients %d/keep %d", untied, bf16, c.clip, c.accumulate, gradients, keep)
						a := ledger.New(nil, 0)
						m := newModel(t, s, Options{BF16: bf16, Paged: true, Account: a, Rows: 30})
						if err := m.Keep(keep); err != nil {
							t.Fatal(err)
						}
						cfg := pageConfig(t, bf16, c.clip, c.accumulate)
						cfg.Paging = &train.Paging{Account: a, Gradients: gradients, ChunkBytes: 1 << 13}
						if !bytes.Equal(export(t, m, cfg), want) {
							t.Errorf("%s: the models differ", name)
						}
						if a.Held() != 0 {
							t.Errorf("%s: %d bytes are held at the end", name, a.Held())
						}
					}
				}
			}
		}
	}
}
