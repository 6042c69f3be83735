package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"atenia/internal/store/durable"
)

// maxTensorName is the longest name that ggml's reader accepts (GGML_MAX_NAME
// less the terminating zero).
const maxTensorName = 63

// WriteGGUF writes a GGUF file of version 3. The file is replaced atomically:
// until it is complete, and if anything fails, an older file of that name stays.
//
// Tensors are aligned to the metadata's general.alignment, or to 32 bytes.
func WriteGGUF(path string, meta Metadata, tensors []TensorSource) error {
	if err := fitsFile(path, tensors); err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error { return EncodeGGUF(w, meta, tensors) })
}

// WriteCheckedGGUF is [WriteGGUF], and before the file gets its name check is called
// with what was written, opened again.
func WriteCheckedGGUF(path string, meta Metadata, tensors []TensorSource, check func(*Description) error) error {
	if err := fitsFile(path, tensors); err != nil {
		return err
	}
	return durable.WriteChecked(path, func(w io.Writer) error { return EncodeGGUF(w, meta, tensors) }, func(temporary string) (err error) {
		d, err := openGGUF(temporary, options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		return check(d)
	})
}

// EncodeGGUF writes to w what [WriteGGUF] writes to a file.
func EncodeGGUF(w io.Writer, meta Metadata, tensors []TensorSource) error {
	ns, err := sizes(tensors)
	if err != nil {
		return err
	}
	g := gguf{meta: meta}
	if err := g.alignment(&parser{}); err != nil {
		return err
	}
	head, err := g.header(tensors, ns)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for i := range tensors {
		if err := tensors[i].copyTo(w, ns[i]); err != nil {
			return err
		}
		// The last tensor is padded too: the reference reader maps whole units.
		if err := zeros(w, g.padding(ns[i])); err != nil {
			return err
		}
	}
	return nil
}

// padding returns the number of bytes from n to the next multiple of the
// alignment.
func (g *gguf) padding(n int) int { return -n & (g.align - 1) }

// header encodes everything before the data section, including padding.
func (g *gguf) header(tensors []TensorSource, ns []int) ([]byte, error) {
	le := binary.LittleEndian
	b := append([]byte(nil), magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint64(b, uint64(len(tensors)))
	b = le.AppendUint64(b, uint64(g.meta.Len()))
	if g.meta.table != nil && g.meta.closed {
		return nil, errors.New("metadata: want those of an open file, got those of a closed one")
	}
	for key, v := range g.meta.All() {
		if key == "" || len(key) > maxName {
			return nil, fmt.Errorf("metadata key %s: want 1 to %d bytes, got %d", quote(key), maxName, len(key))
		}
		b = appendText(b, key)
		b = le.AppendUint32(b, uint32(v.kind))
		b = v.append(b)
	}
	offset := 0
	for i, t := range tensors {
		id, ok := ggmlType(t.DType)
		switch {
		case !ok:
			return nil, &sourceError{Tensor: t.Name, Field: "element type", Want: "one that GGUF can store", Got: t.DType.String()}
		case len(t.Name) > maxTensorName:
			return nil, &sourceError{Tensor: t.Name, Field: "name", Want: fmt.Sprintf("at most %d bytes", maxTensorName), Got: strconv.Itoa(len(t.Name))}
		case len(t.Shape) > maxDims:
			return nil, &sourceError{Tensor: t.Name, Field: "shape", Want: fmt.Sprintf("at most %d dimensions", maxDims), Got: t.Shape.String()}
		case ns[i] == 0:
			return nil, &sourceError{Tensor: t.Name, Field: "shape", Want: "at least one value", Got: t.Shape.String()}
		case ns[i] > math.MaxInt-offset-2*g.align:
			return nil, &sourceError{Tensor: t.Name, Field: "shape", Want: "a file whose size fits", Got: t.Shape.String()}
		}
		b = appendText(b, t.Name)
		b = le.AppendUint32(b, uint32(len(t.Shape)))
		for k := range t.Shape {
			b = le.AppendUint64(b, uint64(t.Shape[len(t.Shape)-1-k]))
		}
		b = le.AppendUint32(b, id)
		b = le.AppendUint64(b, uint64(offset))
		offset += ns[i] + g.padding(ns[i])
	}
	return append(b, make([]byte, g.padding(len(b)))...), nil
}

// appendText appends a string in the encoding of the format.
func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}
