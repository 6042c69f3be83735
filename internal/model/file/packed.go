package file

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"slices"

	"atenia/internal/fault"
	"atenia/internal/model/quant"
	"atenia/tensor"
)

// A made tensor is not in the files: its rows are computed from others that are.
type made struct {
	rows  func(dst []byte, lo, hi int)
	parts []Tensor
}

// Made reports whether the tensor is computed from others, as the matrices of a
// quantized folder are. Its view then has a type and a shape but no data, and it
// is in no file: [Tensor.Read] computes it.
func (t *Tensor) Made() bool { return t.made != nil }

// Stored returns the tensors of the files from which t is made: t itself unless
// [Tensor.Made].
func (t *Tensor) Stored() []*Tensor {
	if t.made == nil {
		return []*Tensor{t}
	}
	out := make([]*Tensor, len(t.made.parts))
	for i := range out {
		out[i] = &t.made.parts[i]
	}
	return out
}

// Read returns the tensor with its data: the view of the file, or new memory if
// it is made from others, computed in parallel.
func (t *Tensor) Read() tensor.View {
	if t.made == nil {
		return t.View
	}
	v := t.View
	rows, size := v.Shape.Rows(), t.bytes()/v.Shape.Rows()
	v.Data = make([]byte, rows*size)
	chunk := max(madeRows, madeBytes/size/madeRows*madeRows)
	next := make(chan int, (rows+chunk-1)/chunk)
	for lo := 0; lo < rows; lo += chunk {
		next <- lo
	}
	close(next)
	var wg fault.Group
	for range min(runtime.GOMAXPROCS(0), cap(next)) {
		wg.Go(func() {
			for lo := range next {
				hi := min(lo+chunk, rows)
				t.made.rows(v.Data[lo*size:hi*size], lo, hi)
			}
		})
	}
	wg.Wait()
	return v
}

const (
	madeRows  = 16      // int32 of a cache line: some formats store columns side by side
	madeBytes = 1 << 18 // that a chunk of rows becomes
)

// quantizeName is where folders have the quantization_config of GPTQ that were
// written before config.json had it.
const quantizeName = "quantize_config.json"

// quantization returns the object quantization_config of a config.json and the
// type of the other weights, which may be those of a part, text_config. The
// syntax has been checked.
func quantization(config []byte) (how []byte, dtype string) {
	s := &scanner{b: config, text: true, loose: true}
	var object func(key string, at int) error
	object = func(key string, at int) error {
		s.peek()
		start := s.off
		switch key {
		case "text_config":
			if s.peek() == '{' {
				return s.object(object)
			}
		case "dtype", "torch_dtype":
			if s.peek() == '"' && dtype == "" {
				var err error
				dtype, err = s.str()
				return err
			}
		case "quantization_config", "compression_config":
			err := s.skip(0)
			if how == nil && s.b[start] == '{' {
				how = s.b[start:s.off]
			}
			return err
		}
		return s.skip(0)
	}
	if err := s.object(object); err != nil {
		return nil, ""
	}
	return how, dtype
}

// PlainConfig returns a config.json without what it says of how weights are packed,
// for a folder with the matrices that those mean.
func PlainConfig(config []byte) []byte {
	var plain []byte
	done := 0
	s := &scanner{b: config, text: true, loose: true}
	var object func(key string, at int) error
	object = func(key string, at int) error {
		if s.peek() == '{' && key == "text_config" {
			return s.object(object)
		}
		if err := s.skip(0); err != nil || key != "quantization_config" && key != "compression_config" {
			return err
		}
		plain = append(plain, config[done:at]...)
		if done = s.off; s.peek() == ',' { // the comma goes, too
			done = s.off + 1
		} else {
			plain = bytes.TrimSuffix(bytes.TrimRight(plain, " \t\r\n"), []byte(","))
		}
		return nil
	}
	if err := s.object(object); err != nil {
		return config
	}
	return append(plain, config[done:]...)
}

// unpack replaces the tensors of a quantized folder by the matrices that they
// mean. Folders of methods that package quant does not know stay as they are.
func (d *Description) unpack(config, zeros string) error {
	stored := make([]quant.Stored, len(d.Tensors))
	for i := range d.Tensors {
		stored[i] = quant.Stored{Name: d.Tensors[i].Name, View: d.Tensors[i].View}
	}
	how, dtype := quantization(d.Config)
	if old, ok := d.Files[quantizeName]; ok && how == nil {
		how, config = old, filepath.Join(filepath.Dir(config), quantizeName)
	}
	f, err := quant.Read(how, dtype, zeros, stored)
	if e := (*quant.Error)(nil); errors.As(err, &e) {
		fault := &FormatError{File: config, Field: e.Field, Want: e.Want, Got: e.Got, Fix: e.Fix, Tensor: e.Tensor}
		if t, ok := d.Tensor(e.Tensor); ok {
			fault.File, fault.Offset = t.File, t.Offset
		}
		return fault
	}
	if f == nil || err != nil {
		return err
	}
	d.Packed, d.Zeros = f.Method, f.Zeros
	if !slices.ContainsFunc(f.Tensors, func(t quant.Tensor) bool { return t.Rows != nil }) {
		return nil
	}
	out := make([]Tensor, len(f.Tensors))
	for i, t := range f.Tensors {
		out[i] = d.Tensors[t.Parts[0]]
		if t.Rows == nil {
			continue
		}
		m := &made{rows: t.Rows}
		for _, k := range t.Parts {
			m.parts = append(m.parts, d.Tensors[k])
		}
		out[i] = Tensor{Name: t.Name, View: tensor.View{DType: t.DType, Shape: t.Shape}, made: m}
	}
	d.Tensors = out
	return d.finish()
}
