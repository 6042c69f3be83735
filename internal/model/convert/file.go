package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/store/durable"
	"atenia/tensor"
)

const (
	sumSuffix   = ".in_sum2"
	countSuffix = ".counts"

	keyDatasets = "imatrix.datasets"
	keyChunks   = "imatrix.chunk_count"
	keySize     = "imatrix.chunk_size"
)

// Write writes a GGUF file as llama.cpp's imatrix does.
func (m *Matrix) Write(path string) error {
	var meta file.Metadata
	meta.Set("general.type", file.ValueOf("imatrix"))
	meta.Set(keyDatasets, file.ArrayOf(m.Datasets))
	meta.Set(keyChunks, file.ValueOf(uint32(m.Chunks)))
	meta.Set(keySize, file.ValueOf(uint32(m.ChunkSize)))
	var out []file.TensorSource
	for _, name := range m.Tensors() {
		e := m.tensors[name]
		n := len(e.counts)
		out = append(out,
			file.SourceOf(name+sumSuffix, tensor.FromF32(tensor.Shape{n, e.cols}, single(e.sums))),
			file.SourceOf(name+countSuffix, tensor.FromF32(tensor.Shape{n, 1}, single(e.counts))))
	}
	return file.WriteGGUF(path, meta, out)
}

func single(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// Read reads an importance matrix. Damage is a [*file.FormatError].
func Read(path string) (*Matrix, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxFile:
		return nil, &file.FormatError{File: path, Want: fmt.Sprintf("at most %d bytes", maxFile), Got: "more", Fix: "name an importance matrix"}
	case !bytes.HasPrefix(b, []byte("GGUF")):
		return parseDat(path, b)
	}
	d, err := file.OpenBytes(path, b)
	if err != nil {
		return nil, err
	}
	m, err := fromGGUF(d)
	return m, errors.Join(err, d.Close())
}

// fromGGUF takes the tensors of a file.
func fromGGUF(d *file.Description) (*Matrix, error) {
	bad := func(t *file.Tensor, want string) error {
		return &file.FormatError{File: d.Path, Offset: t.Offset, Tensor: t.Name, Field: "importance", Want: want,
			Got: fmt.Sprintf("%v %v", t.View.DType, t.View.Shape), Fix: "make the matrix again with atenia imatrix or llama-imatrix"}
	}
	if kind, _, _ := d.Meta.String("general.type"); kind != "imatrix" {
		return nil, &file.FormatError{File: d.Path, Field: `metadata "general.type"`, Want: "imatrix", Got: fmt.Sprintf("%q", kind), Fix: "name a file that atenia imatrix or llama-imatrix wrote"}
	}
	m := &Matrix{}
	chunks, _, _ := d.Meta.Uint(keyChunks)
	size, _, _ := d.Meta.Uint(keySize)
	m.Chunks, m.ChunkSize = int(min(chunks, math.MaxInt32)), int(min(size, math.MaxInt32))
	for i := range d.Tensors {
		t := &d.Tensors[i]
		name, ok := strings.CutSuffix(t.Name, sumSuffix)
		if !ok {
			continue
		}
		if t.View.DType != tensor.F32 || len(t.View.Shape) == 0 || t.View.Shape.Cols() == 0 {
			return nil, bad(t, "a matrix of F32")
		}
		n, cols := t.View.Shape.Rows(), t.View.Shape.Cols()
		c, ok := d.Tensor(name + countSuffix)
		if !ok {
			return nil, bad(t, "a tensor "+name+countSuffix+" beside it")
		}
		if size, _ := c.View.Shape.Size(); c.View.DType != tensor.F32 || size != n {
			return nil, bad(c, fmt.Sprintf("%d numbers, one for each row of %s", n, t.Name))
		}
		e := m.entry(name, cols)
		e.sums, e.counts = double(t.View.Data), double(c.View.Data)
		if !valid(e.sums) || !valid(e.counts) {
			return nil, bad(t, "finite numbers of at least 0")
		}
	}
	if len(m.tensors) == 0 {
		return nil, &file.FormatError{File: d.Path, Field: "importance", Want: "tensors that end in " + sumSuffix, Got: "none"}
	}
	return m, nil
}

func double(b []byte) []float64 {
	out := make([]float64, len(b)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return out
}

func valid(x []float64) bool {
	for _, v := range x {
		if !(v >= 0) || math.IsInf(v, 1) {
			return false
		}
	}
	return true
}

const (
	maxFile    = 1 << 30
	maxEntries = 1 << 20
	maxName    = 1 << 12
)

// parseDat reads the older form: a count of entries, each a name, the number of
// chunks, the number of values and values, and, perhaps, chunks and the dataset.
func parseDat(path string, b []byte) (*Matrix, error) {
	at := 0
	fault := func(field, want, got string) error {
		return &file.FormatError{File: path, Offset: int64(at), Field: field, Want: want, Got: got, Fix: "this is no importance matrix, or it is cut: make it again"}
	}
	whole := func(field string, most int) (int, error) {
		if len(b)-at < 4 {
			return 0, fault(field, "a number", "the end of the file")
		}
		n := int(int32(binary.LittleEndian.Uint32(b[at:])))
		if n < 0 || n > most {
			return 0, fault(field, fmt.Sprintf("0 to %d", most), fmt.Sprint(n))
		}
		at += 4
		return n, nil
	}
	n, err := whole("number of entries", maxEntries)
	if err != nil {
		return nil, err
	}
	m := &Matrix{}
	for range n {
		size, err := whole("length of a name", min(maxName, len(b)-at))
		if err != nil {
			return nil, err
		}
		if size > len(b)-at {
			return nil, fault("name", fmt.Sprintf("%d bytes", size), "the end of the file")
		}
		name := string(b[at : at+size])
		at += size
		calls, err := whole("number of chunks", math.MaxInt32)
		if err != nil {
			return nil, err
		}
		cols, err := whole("number of values", (len(b)-at)/4)
		if err != nil {
			return nil, err
		}
		if cols == 0 || cols > (len(b)-at)/4 || m.tensors[name] != nil {
			return nil, fault("entry", "values of a tensor that has none yet", fmt.Sprintf("%d values of %q", cols, name))
		}
		e := m.entry(name, cols)
		e.sums, e.counts = double(b[at:at+4*cols]), []float64{float64(max(1, calls))}
		at += 4 * cols
		if !valid(e.sums) {
			return nil, fault("values of "+name, "finite numbers of at least 0", "another")
		}
	}
	if n == 0 {
		return nil, fault("number of entries", "at least 1", "0")
	}
	if len(b)-at >= 8 { // newer releases say how it was made
		m.Chunks, _ = whole("chunks", math.MaxInt32)
		if size, err := whole("length of the dataset", len(b)); err == nil && size <= len(b)-at {
			m.Datasets = []string{string(b[at : at+size])}
		}
	}
	return m, nil
}

// split divides an entry of a .dat file, which has the columns of all experts
// one after another, by the number of experts.
func (e *entry) split(experts int) {
	if experts > 1 && len(e.counts) == 1 && e.cols%experts == 0 {
		e.cols /= experts
		count := e.counts[0]
		for len(e.counts) < experts {
			e.counts = append(e.counts, count)
		}
	}
}
