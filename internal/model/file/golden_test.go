package file

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// Every file of the reference writer opens, its tensors fill the file, and our
// writer reproduces its bytes.
func TestGoldenFiles(t *testing.T) {
	dir := family(t, "gguf/models")
	files, _ := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if len(files) == 0 {
		t.Fatalf("no .gguf file in %s", dir)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".gguf"), func(t *testing.T) {
			d, err := Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			arch, ok, err := d.Meta.String("general.architecture")
			if !ok || err != nil || arch == "" {
				t.Errorf("architecture %q, %v, %v", arch, ok, err)
			}
			if toks, ok, err := d.Meta.Strings("tokenizer.ggml.tokens"); err != nil || ok && len(toks) == 0 {
				t.Errorf("%d tokens, %v", len(toks), err)
			}
			emb, ok := d.Tensor("token_embd.weight")
			if !ok || len(emb.View.Shape) != 2 {
				t.Fatalf("token_embd.weight: %v", emb)
			}
			if n, ok, err := d.Meta.Uint(arch + ".embedding_length"); !ok || err != nil || int(n) != emb.View.Shape[1] {
				t.Errorf("embedding is %v, header says %d (%v, %v)", emb.View.Shape, n, ok, err)
			}
			var ts []TensorSource
			for _, x := range d.Tensors {
				ts = append(ts, SourceOf(x.Name, x.View))
			}
			var w bytes.Buffer
			if err := EncodeGGUF(&w, d.Meta, ts); err != nil {
				t.Error(err)
			}
			if d.Version == version && !bytes.Equal(w.Bytes(), d.Parts[0].data) {
				t.Errorf("written again it has %d bytes that are not the same %d", w.Len(), d.Parts[0].Bytes)
			}
			last := d.Tensors[len(d.Tensors)-1]
			if end := last.Offset + int64(len(last.View.Data)); end > d.Parts[0].Bytes || d.Parts[0].Bytes-end >= int64(d.Alignment) {
				t.Errorf("the last tensor ends at %d of %d", end, d.Parts[0].Bytes)
			}
		})
	}
}
