package atenia

import (
	"context"
	"path/filepath"

	"atenia/internal/engine"
	"atenia/internal/machine/cpu"
	"atenia/internal/model/convert"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
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
	Offset int64 // in File; of a matrix that is made from several tensors, that of the first
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

// Inspect reads the header of a .gguf or .safetensors file, a Hugging Face folder
// or, for the path "", the embedded model. Use it to see what a download is before
// opening it: it works for any architecture, supported or not.
//
// It reports damage as [Open] does, and does not read the values of
// tensors, so bits that changed there are not found.
func Inspect(path string) (*File, error) {
	return guarded(func() (*File, error) { return inspect(path) })
}

func inspect(path string) (*File, error) {
	open := func() (*file.Description, error) { return engine.OpenFiles(path, "") }
	if filepath.Ext(path) == ".safetensors" && file.IsFile(path) {
		open = func() (*file.Description, error) { return file.OpenSafetensors(path) }
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f := &File{Path: engine.Display(path), Format: d.Format}
	for key, v := range d.Meta.All() {
		f.Metadata = append(f.Metadata, entry(key, v))
	}
	for i := range d.Tensors {
		t := &d.Tensors[i]
		n, _ := t.View.Shape.Bytes(t.View.DType) // the parser checked that it fits
		at := t.Stored()[0]
		f.Tensors = append(f.Tensors, TensorInfo{t.Name, t.View.DType, t.View.Shape, int64(n), at.File, at.Offset})
	}
	f.Totals = newTotals(d.Summary())
	return f, nil
}

func newTotals(s file.Summary) Totals {
	t := Totals{
		Files: s.Files, FileBytes: s.FileBytes, Bytes: s.Bytes,
		Parameters: s.Parameters, BitsPerParameter: s.BitsPerParameter(),
	}
	for _, k := range s.Types {
		t.Types = append(t.Types, TypeTotals(k))
	}
	return t
}

func entry(key string, v file.Value) Entry {
	e := Entry{Key: key, Type: v.Type().String(), Value: v.String()}
	if v.Type() == file.Array {
		e.Type, e.Elements = "array of "+v.Elem().String(), v.Len()
	}
	return e
}

// A Mix names the element types that [Quantize] gives a model's tensors, for
// example "q4_k_m". The zero value is "f32". Names are those of llama.cpp.
type Mix uint8

// ParseMix reads the name of a mix, in any case: "q4_k_m", "bf16".
func ParseMix(s string) (Mix, error) {
	m, err := quant.ParseMix(s)
	return Mix(m), err
}

// Mixes returns all mixes that [Quantize] writes.
func Mixes() []Mix { return convertAll(quant.Mixes(), func(m quant.Mix) Mix { return Mix(m) }) }

// String returns the name, such as "q4_k_m".
func (m Mix) String() string { return quant.Mix(m).String() }

// MarshalText implements [encoding.TextMarshaler].
func (m Mix) MarshalText() ([]byte, error) { return quant.Mix(m).MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *Mix) UnmarshalText(b []byte) error { return (*quant.Mix)(m).UnmarshalText(b) }

// QuantizeOptions choose how [Quantize] writes a model. The zero value writes
// float32.
type QuantizeOptions struct {
	Mix     Mix
	Threads int // 0 = physical cores
	// ConfigFile is the name of the configuration in a Hugging Face folder.
	// "" = config.json.
	ConfigFile string
	Adapter    string // as in [Config]: the merged model is written
	GPTQZeros  string // as in [Config]; what is not told is one of the Warnings
	// Importance is a file that [MeasureImportance] or llama.cpp's imatrix wrote, in
	// either of its formats: errors of columns are weighed by it. "" = none. It is
	// used by block types but q8_0 and the ternary ones, whose values leave no choice.
	Importance string
	// Progress, if set, is called now and then with the bytes of tensor data
	// written so far, their total, and the tensor at work.
	Progress func(done, total int64, tensor string)
}

// A QuantizeReport says what [Quantize] wrote.
type QuantizeReport struct {
	Arch        string // general.architecture
	Mix         Mix
	Tensors     int
	Copied      int          // tensors whose values were written as they were
	SourceBytes int64        // of the tensors that were read
	TensorBytes int64        // of the tensors that were written
	FileBytes   int64        // size of the file
	Types       []TypeTotals // most bytes first
	Warnings    []string     // what may matter: rows that do not fit, losses upon losses
}

// Quantize writes a model, given as for [Open], as one GGUF file with the
// element types of a mix. The file means the same model: tokens, chat template,
// stop tokens and recommended sampling are those of the original.
//
// Start from an original in 16 or 32 bits: quantizing a quantized model loses
// accuracy twice, which Warnings tells. [ParseMix] reads the usual names; "q4_k_m"
// is a good compromise, "q8_0" is nearly lossless.
//
// Tensors that have the wanted type already are copied byte for byte. The file
// at out is replaced when the new one is complete; after an error, or when ctx
// ends, nothing has changed.
func Quantize(ctx context.Context, in, out string, o QuantizeOptions) (QuantizeReport, error) {
	return guarded(func() (QuantizeReport, error) { return quantize(ctx, in, out, o) })
}

func quantize(ctx context.Context, in, out string, o QuantizeOptions) (QuantizeReport, error) {
	if o.Threads <= 0 {
		o.Threads = cpu.Threads()
	}
	if err := engine.CheckZeros(o.GPTQZeros); err != nil {
		return QuantizeReport{}, publish(err)
	}
	d, notes, done, err := engine.OpenMerged(in, o.ConfigFile, o.Adapter, file.GPTQZeros(o.GPTQZeros))
	if err != nil {
		return QuantizeReport{}, err
	}
	defer done()
	if err := engine.AskedZeros(d, o.GPTQZeros); err != nil {
		return QuantizeReport{}, publish(err)
	}
	var importance *convert.Matrix
	if o.Importance != "" {
		if importance, err = convert.Read(o.Importance); err != nil {
			return QuantizeReport{}, err
		}
	}
	r, err := convert.Convert(ctx, d, out, convert.Options{Importance: importance, Mix: quant.Mix(o.Mix), Threads: o.Threads, Progress: o.Progress})
	if err != nil {
		return QuantizeReport{}, engine.Named(in, err)
	}
	q := QuantizeReport{
		Arch: r.Arch, Mix: Mix(r.Mix), Tensors: r.Tensors, Copied: r.Copied,
		SourceBytes: r.SourceBytes, TensorBytes: r.TensorBytes, FileBytes: r.FileBytes, Warnings: append(notes, r.Warnings...),
	}
	if line := d.UntoldZeros(); line != "" {
		q.Warnings = append(q.Warnings, line)
	}
	for _, t := range r.Types {
		q.Types = append(q.Types, TypeTotals(t))
	}
	return q, nil
}
