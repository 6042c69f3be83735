package exec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// withChunk opens a case of a Mamba 2 whose configuration says another chunk.
func withChunk(t *testing.T, name, from, to string) *model {
	t.Helper()
	src, dst := filepath.Join(golden.Root(t), "testdata", "golden", "parity", name), t.TempDir()
	config, err := os.ReadFile(filepath.Join(src, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(config, []byte(from), []byte(to), 1)
	if bytes.Equal(changed, config) {
		t.Fatalf("%s does not say %s", name, from)
	}
	if err := os.WriteFile(filepath.Join(dst, "config.json"), changed, 0o666); err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(src, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dst, "model.safetensors"), weights, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := file.Open(dst)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return load(t, d, compile.Options{})
}

// Chunks of the largest length that is computed give what short ones do, within
// rounding, and for every division into steps the same bits.
func TestLongChunks(t *testing.T) {
	cfg := exec.Config{Threads: 1, MaxLogits: 300, MaxTokens: 300, Context: 512}
	for name, key := range map[string]string{"mamba2_groups": `"chunk_size": `, "granite_hybrid_rope": `"mamba_chunk_size": `} {
		t.Run(name, func(t *testing.T) {
			m := withChunk(t, name, key+"8", key+"256")
			if c := m.Config.Scan.Chunk; c != 64 {
				t.Fatalf("chunks of %d", c)
			}
			tokens := randomTokens(12, 280, m.Config.Vocab)
			want := m.lane(t, cfg).all(tokens, len(tokens))
			for _, chunks := range [][]int{{100, 1, 1, 62, 3, 80, 1}, {64, 65, 63, 1}, {7}} {
				two := cfg
				two.Threads = 2
				sameRows(t, "steps", m.lane(t, two).all(tokens, chunks...), want)
			}
			short := openCase(t, "parity/"+name, compile.Options{}).lane(t, cfg).all(tokens, 280)
			if worst, _ := distance(short, want); worst > 1e-3 {
				t.Errorf("chunks of 8 and of 64 differ by %g", worst)
			}
		})
	}
}
