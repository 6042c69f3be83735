package compile

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// TestGraniteWidths: without experts, llama.cpp's converter writes the width that no
// layer has as feed_forward_length, and that of the layers as the shared one.
func TestGraniteWidths(t *testing.T) {
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "granite_hybrid"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := Compile(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	var meta file.Metadata
	for _, kv := range x.Meta {
		meta.Set(kv.Key, kv.Value)
	}
	meta.Set(m.Config.Arch+".feed_forward_length", file.ValueOf(uint32(m.Config.FFN-16)))
	meta.Set(m.Config.Arch+".expert_shared_feed_forward_length", file.ValueOf(uint32(m.Config.FFN)))
	var sources []file.TensorSource
	for _, w := range x.Tensors {
		sources = append(sources, file.TensorSource{Name: w.Name, DType: tensor.F32, Shape: w.Shape, Write: func(out io.Writer) error {
			v, err := MaterializeOne(w, d)
			if err != nil {
				return err
			}
			_, err = out.Write(v.Data)
			return err
		}})
	}
	var b bytes.Buffer
	if err := file.EncodeGGUF(&b, meta, sources); err != nil {
		t.Fatal(err)
	}
	d2, err := file.OpenBytes("granite.gguf", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m2, err := Compile(d2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, d, d2, m, m2)
}
