package lora

// Merging an adapter into a model: W + scale·B·A replaces W.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/kernel/dense"
	"atenia/internal/model/file"
	"atenia/internal/store/durable"
	"atenia/tensor"
)

// AddTo adds scale·B·A to a matrix [out, in], or to one [in, out] if it is turned.
func (p *Pair) AddTo(w []float32) {
	if p.Turned {
		plain, sum := *p, make([]float32, len(w))
		plain.Turned = false
		plain.AddTo(sum)
		for i := range p.In {
			for o := range p.Out {
				w[i*p.Out+o] += sum[o*p.In+i]
			}
		}
		return
	}
	b := make([]float32, len(p.B))
	for i, x := range p.B {
		b[i] = float32(p.Scale) * x
	}
	dense.New[float32](nil).AddMul(w, b, p.A, p.Out, p.Rank, p.In)
}

// merged returns sources of the matrices that the adapter changes: in their own
// type, or in F16 if that is quantized, because quantizing again would lose most
// of what an adapter adds.
func (a *Adapter) merged(d *file.Description) (map[string]file.TensorSource, error) {
	if a.gguf {
		return nil, fmt.Errorf("%w: an adapter in a GGUF file is not merged: open the model with it beside the weights (Config.Adapters, \"atenia serve --adapter\")", ErrUnsupported)
	}
	if d.Format == file.GGUF {
		return nil, fmt.Errorf("%w: adapters name the tensors of Hugging Face folders, and %s is a GGUF file: merge with the folder, then quantize", ErrBase, d.Path)
	}
	out := map[string]file.TensorSource{}
	for i := range a.Pairs {
		p := &a.Pairs[i]
		t, ok := d.Tensor(p.Tensor())
		if !ok {
			return nil, fmt.Errorf("%w: there is no tensor %s", ErrBase, p.Tensor())
		}
		want := tensor.Shape{p.Out, p.In}
		if p.Turned {
			want = tensor.Shape{p.In, p.Out}
		}
		if !t.View.Shape.Equal(want) {
			return nil, fmt.Errorf("%w: %s has shape %v, the adapter has one for %v", ErrBase, t.Name, t.View.Shape, want)
		}
		kind := t.View.DType
		if kind.Quantized() {
			kind = tensor.F16
		}
		out[t.Name] = file.TensorSource{Name: t.Name, DType: kind, Shape: t.View.Shape, Write: func(w io.Writer) error {
			x, err := values(t)
			if err != nil {
				return err
			}
			p.AddTo(x)
			return write(w, kind, x)
		}}
	}
	return out, nil
}

// write writes values in a floating-point type.
func write(w io.Writer, kind tensor.DType, x []float32) error {
	b := make([]byte, 0, 1<<16)
	for len(x) > 0 {
		n := min(len(x), cap(b)/4)
		b = b[:0]
		for _, v := range x[:n] {
			switch kind {
			case tensor.F16:
				b = binary.LittleEndian.AppendUint16(b, tensor.F32ToF16(v))
			case tensor.BF16:
				b = binary.LittleEndian.AppendUint16(b, tensor.F32ToBF16(v))
			case tensor.F32:
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			default:
				return fmt.Errorf("%w: a matrix of %v", ErrUnsupported, kind)
			}
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// Overlay merges the adapter into an opened model: it writes the changed
// matrices to a safetensors file, from which the description reads them until it
// is closed. The file must not be removed before. Errors match [ErrBase], or are
// those of files.
func (a *Adapter) Overlay(d *file.Description, path string) error {
	changed, err := a.merged(d)
	if err != nil {
		return err
	}
	var sources []file.TensorSource
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		sources = append(sources, changed[name])
	}
	if err := file.WriteSafetensors(path, nil, sources); err != nil {
		return err
	}
	over, err := file.OpenSafetensors(path)
	if err != nil {
		return err
	}
	for i := range over.Tensors {
		if t, ok := d.Tensor(over.Tensors[i].Name); ok {
			*t = over.Tensors[i]
		}
	}
	d.Parts = append(d.Parts, over.Parts...)
	return nil
}

// Load opens the adapter in a directory and overlays it on an opened model. The
// merged matrices are in a temporary file; call remove after closing the
// description. If dir is empty, Load does nothing.
func Load(d *file.Description, dir string) (notes []string, remove func() error, err error) {
	if dir == "" {
		return nil, func() error { return nil }, nil
	}
	a, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if a.Edited != "" {
		notes = []string{fmt.Sprintf("the configuration of adapter %s was edited: %s", dir, a.Edited)}
	}
	tmp, remove, err := durable.TempDir("", "atenia-merged-")
	if err != nil {
		return nil, nil, err
	}
	if err := a.Overlay(d, filepath.Join(tmp, "merged.safetensors")); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("adapter %s: %w", dir, err), remove())
	}
	return notes, remove, nil
}

// Merge writes the merged model as a Hugging Face folder with the other files of
// the original: configuration, tokenizer, chat template. A nil file system is
// the operating system's. Errors match [ErrBase] or [ErrUnsupported], or are
// those of files.
func (a *Adapter) Merge(fsys durable.FS, d *file.Description, dir string) error {
	if d.Format != file.HuggingFace {
		return fmt.Errorf("%w: %s is not a Hugging Face folder, the only form that can be written", ErrUnsupported, d.Path)
	}
	if d.Packed != "" {
		return fmt.Errorf("%w: %s is quantized with %s, and the merged model would not be: merge with the original, then quantize", ErrUnsupported, d.Path, d.Packed)
	}
	changed, err := a.merged(d)
	if err != nil {
		return err
	}
	var sources []file.TensorSource
	for i := range d.Tensors {
		s, ok := changed[d.Tensors[i].Name]
		if !ok {
			s = file.SourceOf(d.Tensors[i].Name, d.Tensors[i].View)
		}
		sources = append(sources, s)
	}
	fsys = durable.Default(fsys)
	if err := fsys.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if from, err := fsys.Stat(d.Path); err != nil {
		return err
	} else if to, err := fsys.Stat(dir); err != nil || os.SameFile(from, to) {
		return errors.Join(fmt.Errorf("%w: %s is the folder of the original: choose another", ErrConfig, dir), err)
	}
	path := func(name string, write func(io.Writer) error) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := fsys.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return durable.ReplaceIn(fsys, to, write)
	}
	if err := d.ReadVocabularies(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Files)) {
		if name == configFile {
			continue
		}
		if err := path(name, content(d.Files[name])); err != nil {
			return err
		}
	}
	err = file.WriteWeights(fsys, dir, map[string]string{"format": "pt"}, sources)
	if err != nil {
		return err
	}
	return path("config.json", content(d.Config)) // last: with it the folder becomes a model
}

func content(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
