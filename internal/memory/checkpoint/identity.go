package checkpoint

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"atenia/internal/model/file"
	"atenia/internal/store/blob"
)

// sampleBytes is how much of each end of a tensor is part of a model's identity.
const sampleBytes = 64

// ModelOf identifies the model of open files: by names, types, shapes and places
// of all tensors, by the ends of each, and by its configuration. Reading all
// bytes would take as long as loading the model, so a change between the ends is
// noticed by the files' sizes and times instead. more are further files that
// the weights were made from.
func ModelOf(d *file.Description, more ...string) *Model {
	m := &Model{Path: d.Path, Types: map[string]string{}}
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(d.Config)))
	b = append(b, d.Config...)
	for i := range d.Tensors {
		t := &d.Tensors[i]
		m.Types[t.Name] = t.View.DType.String()
		b = binary.AppendUvarint(b, uint64(len(t.Name)))
		b = append(b, t.Name...)
		b = append(b, byte(t.View.DType), byte(len(t.View.Shape)))
		for _, n := range t.View.Shape {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, s := range t.Stored() {
			data := s.View.Data
			b = binary.AppendUvarint(b, uint64(len(data)))
			b = append(b, data[:min(len(data), sampleBytes)]...)
			b = append(b, data[max(0, len(data)-sampleBytes):]...)
		}
	}
	m.Content = blob.HashOf(b)
	b = b[:0]
	for _, p := range d.Parts {
		more = append(more, p.Path)
	}
	for _, path := range more {
		if st, err := os.Stat(path); err == nil {
			b = binary.AppendVarint(b, st.Size())
			b = binary.AppendVarint(b, st.ModTime().UnixNano())
		}
	}
	m.Written = blob.HashOf(b)
	return m
}

// Same reports whether two models are the same, as far as their files' headers
// and samples say.
func (m *Model) Same(other *Model) bool { return m.Content == other.Content }

// PathOf returns the path of a tensor's file, independently of the current
// directory.
func PathOf(t *file.Tensor) string {
	if abs, err := filepath.Abs(t.File); err == nil && t.File != "" {
		return abs
	}
	return t.File
}
