package atenia

import (
	"path/filepath"

	"atenia/internal/modelfile"
	"atenia/tensor"
)

// A File is what a model file's header says. It holds no tensor data.
type File struct {
	Path, Format string // "gguf" or "huggingface"
	Metadata     []Entry
	Tensors      []TensorInfo
	Totals       Totals
}

// An Entry is one key of a file's metadata. A long array is cut to its first
// elements; Elements tells its length.
type Entry struct {
	Key, Type string
	Value     string
	Elements  int // of an array, 0 otherwise
}

// A TensorInfo is one tensor of a file. The shape lists the outermost axis
// first: a matrix is [out, in].
type TensorInfo struct {
	Name   string
	DType  tensor.DType
	Shape  tensor.Shape
	Bytes  int64
	File   string
	Offset int64 // in File
}

// Totals are sums over a file's tensors.
type Totals struct {
	Files            int
	FileBytes, Bytes int64
	Parameters       int64
	BitsPerParameter float64
	Types            []TypeTotals // largest first
}

// TypeTotals are the totals of one element type.
type TypeTotals struct {
	DType             tensor.DType
	Tensors           int
	Parameters, Bytes int64
}

// Inspect reads the header of a .gguf or .safetensors file or a Hugging Face
// folder, or the embedded model as [Open] does. It works for any architecture, supported or not, and
// reports damage as [Open] does.
func Inspect(path string) (*File, error) {
	open := func() (*modelfile.Description, error) { return describe(path, "") }
	if filepath.Ext(path) == ".safetensors" && isFile(path) {
		open = func() (*modelfile.Description, error) { return modelfile.OpenSafetensors(path) }
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f := &File{Path: display(path), Format: d.Format}
	for key, v := range d.Meta.All() {
		f.Metadata = append(f.Metadata, entry(key, v))
	}
	for i := range d.Tensors {
		t := &d.Tensors[i]
		f.Tensors = append(f.Tensors, TensorInfo{t.Name, t.View.DType, t.View.Shape, int64(len(t.View.Data)), t.File, t.Offset})
	}
	s := d.Summary()
	f.Totals = Totals{
		Files: s.Files, FileBytes: s.FileBytes, Bytes: s.Bytes,
		Parameters: s.Parameters, BitsPerParameter: s.BitsPerParameter(),
	}
	for _, t := range s.Types {
		f.Totals.Types = append(f.Totals.Types, TypeTotals(t))
	}
	return f, nil
}

func entry(key string, v modelfile.Value) Entry {
	e := Entry{Key: key, Type: v.Type().String(), Value: v.String()}
	if v.Type() == modelfile.Array {
		e.Type, e.Elements = "array of "+v.Elem().String(), v.Len()
	}
	return e
}
