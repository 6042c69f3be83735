package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"

	"atenia/tensor"
)

// Options configure [Convert]. The zero value works: float32.
type Options struct {
	Mix     quant.Mix
	Threads int // 0 = GOMAXPROCS
	// Importance weighs the errors of each tensor's columns; nil = all alike.
	Importance *Matrix
	// Progress, if not nil, is called after every slab of rows with the bytes of
	// tensor data written so far, their total, and the current tensor.
	Progress func(done, total int64, tensor string)
}

// A Report describes what was written.
type Report struct {
	Arch        string
	Mix         quant.Mix
	Tensors     int
	Copied      int         // tensors copied byte for byte
	SourceBytes int64       // of the tensors that were read
	TensorBytes int64       // of the tensors that were written
	FileBytes   int64       // size of the file
	Types       []TypeCount // largest first
	Warnings    []string    // sentences for the user
	Tower       string      // path of the image tower's file, if the model has one
}

// A TypeCount totals the tensors of one element type.
type TypeCount struct {
	DType      tensor.DType
	Tensors    int
	Parameters int64
	Bytes      int64
}

// A pathError says that the output would overwrite a part of the input.
type pathError struct{ Path string }

func (e *pathError) Error() string {
	return fmt.Sprintf("%s belongs to the model to convert: choose another output", e.Path)
}

// Convert writes the model as a GGUF file. If anything fails or ctx ends, an
// older file of that name is unchanged and no temporary file remains.
//
// Its errors are those of packages compile, weights, text, quant and modelfile,
// and [*pathError].
func Convert(ctx context.Context, d *file.Description, out string, o Options) (Report, error) {
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if err := apart(d, out); err != nil {
		return Report{}, err
	}
	beside := file.TowerName(out)
	if err := apart(d, beside); err != nil {
		return Report{}, err
	}
	j := &job{d: d, o: o, report: Report{Mix: o.Mix}}
	prepare := j.fromModel
	if d.Format == file.GGUF {
		prepare = j.fromGGUF
	}
	if err := prepare(); err != nil {
		return Report{}, err
	}
	if err := j.plan(); err != nil {
		return Report{}, err
	}
	if j.tower != nil {
		if err := j.tower.plan(); err != nil {
			return Report{}, err
		}
		if err := file.WriteGGUF(beside, j.tower.meta, j.tower.writers(ctx)); err != nil {
			return Report{}, err
		}
		j.report.Tower = beside
	}
	if err := file.WriteCheckedGGUF(out, j.meta, j.writers(ctx), j.opens); err != nil {
		return Report{}, err
	}
	st, err := os.Stat(out)
	if err != nil {
		return Report{}, err
	}
	j.report.FileBytes = st.Size()
	return j.report, nil
}

// apart rejects an output that is one of the input files: they are mapped, and
// the user would lose the original.
func apart(d *file.Description, out string) error {
	st, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	inputs := []string{d.Path}
	for _, p := range d.Parts {
		inputs = append(inputs, p.Path)
	}
	if d.Format == file.HuggingFace {
		inputs = append(inputs, filepath.Join(d.Path, "config.json"))
		for name := range d.Files {
			inputs = append(inputs, filepath.Join(d.Path, filepath.FromSlash(name)))
		}
	}
	for _, in := range inputs {
		if is, err := os.Stat(in); err == nil && os.SameFile(st, is) {
			return &pathError{out}
		}
	}
	return nil
}

// A job is one conversion: it determines the content of the file, then writes
// it.
type job struct {
	d      *file.Description
	o      Options
	meta   file.Metadata
	items  []item
	report Report
	tower  *job // of the image tower; nil = none
}

// An item is a tensor to write.
type item struct {
	name    string
	shape   tensor.Shape
	sources []*file.Tensor
	from    tensor.DType // type of the values that view returns
	to      tensor.DType
	view    func() (tensor.View, error)

	importance [][]float32 // of the columns, for each matrix; nil = all alike
}

// fromModel applies the recipes of package compile for a GGUF file.
func (j *job) fromModel() error {
	m, err := compile.Compile(j.d, compile.Options{})
	if err != nil {
		return err
	}
	x, err := m.GGUF()
	if err != nil {
		return err
	}
	j.report.Arch = x.Arch
	if err := j.addItems(x.Tensors); err != nil {
		return err
	}
	if x.Tower != nil {
		if err := j.towerJob(x.Tower); err != nil {
			return err
		}
	}
	return j.modelHeader(m, x)
}

// towerJob prepares the file of an image tower. It has the type of the decoder's
// file if that is one of floats, as llama.cpp's converter writes it: BF16 weights may
// be too large for F16. Where products of the decoder become smaller, those of the
// tower stay in sixteen bits: it is small, and images suffer.
func (j *job) towerJob(x *compile.Export) error {
	t := &job{d: j.d, o: j.o}
	t.o.Progress = nil
	t.report.Arch = x.Arch
	if err := t.addItems(x.Tensors); err != nil {
		return err
	}
	if !slices.Contains([]string{"f32", "bf16"}, t.o.Mix.String()) {
		var err error
		if t.o.Mix, err = quant.ParseMix("f16"); err != nil {
			return err
		}
	}
	t.meta.Set("general.architecture", file.ValueOf(x.Arch))
	t.meta.Set("general.type", file.ValueOf("mmproj"))
	t.meta.Set("general.name", file.ValueOf(modelName(j.d.Path)))
	t.setTypes()
	for _, kv := range x.Meta {
		t.meta.Set(kv.Key, kv.Value)
	}
	for _, name := range []string{"preprocessor_config.json", "processor_config.json"} {
		if b := j.d.Files[name]; b != nil {
			t.meta.Set("atenia.preprocessor", file.ValueOf(string(b)))
			break
		}
	}
	if b := j.d.Files["video_preprocessor_config.json"]; b != nil {
		t.meta.Set("atenia.video_preprocessor", file.ValueOf(string(b)))
	}
	j.tower = t
	return nil
}

// addItems adds the tensors of an export.
func (j *job) addItems(ws []compile.Weight) error {
	find := compile.Find(j.d)
	for _, w := range ws {
		it := item{name: w.Name, shape: w.Shape, from: tensor.F32}
		it.view = func() (tensor.View, error) { return compile.MakeWeight(w, find) }
		for _, s := range w.Sources {
			x, ok := j.d.Tensor(s)
			if !ok { // compiled from the same description
				return fmt.Errorf("tensor %q is gone", s)
			}
			it.sources = append(it.sources, x.Stored()...)
			it.from = x.View.DType
		}
		if slices.ContainsFunc(w.Transform, func(t compile.Transform) bool { return !t.RowWise() }) {
			it.from = tensor.F32
		}
		j.items = append(j.items, it)
	}
	return nil
}

// isTower reports whether the source is the file of an image tower alone.
func (j *job) isTower() bool {
	kind, _, _ := j.d.Meta.String("general.type")
	arch, _, _ := j.d.Meta.String("general.architecture")
	return kind == "mmproj" || arch == "clip"
}

// opens returns an error if what was written is no model that runs.
func (j *job) opens(d *file.Description) error {
	if j.d.Format == file.GGUF && j.isTower() {
		return nil
	}
	if _, err := compile.Compile(d, compile.Options{}); err != nil {
		return fmt.Errorf("what was written is no model, so nothing is kept: %w", err)
	}
	return nil
}

// fromGGUF takes tensors and keys unchanged, of a model that runs.
func (j *job) fromGGUF() error {
	if !j.isTower() {
		if _, err := compile.Compile(j.d, compile.Options{}); err != nil {
			return err
		}
	}
	for i := range j.d.Tensors {
		t := &j.d.Tensors[i]
		j.items = append(j.items, item{
			name: t.Name, shape: t.View.Shape, from: t.View.DType, sources: []*file.Tensor{t},
			view: func() (tensor.View, error) { return t.View, nil },
		})
	}
	return j.copyHeader()
}

// plan chooses the element type of every tensor and fills the report.
func (j *job) plan() error {
	tied := !slices.ContainsFunc(j.items, func(it item) bool { return it.name == "output.weight" })
	layers := j.layers()
	types := map[tensor.DType]*TypeCount{}
	again, other, unweighed := 0, 0, 0
	for i := range j.items {
		it := &j.items[i]
		it.to = j.wanted(it, tied, layers)
		n, err := it.shape.Bytes(it.to)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", it.name, err)
		}
		if j.o.Importance != nil && it.to.Quantized() && it.from != it.to {
			if err := j.weigh(it); err != nil {
				return err
			}
			if it.importance == nil && !embedding(it.name) {
				unweighed++
			}
		}
		if it.from == it.to {
			j.report.Copied++
		} else if it.from.Quantized() && it.to.Quantized() {
			again++
		}
		if wide := (item{name: it.name, shape: widened(it.shape), from: it.from}); j.wanted(&wide, tied, layers) != it.to {
			other++
		}
		t := types[it.to]
		if t == nil {
			t = &TypeCount{DType: it.to}
			types[it.to] = t
		}
		values, _ := it.shape.Size()
		t.Tensors++
		t.Parameters += int64(values)
		t.Bytes += int64(n)
		j.report.TensorBytes += int64(n)
		for _, x := range it.sources {
			j.report.SourceBytes += int64(len(x.View.Data))
		}
	}
	j.report.Tensors = len(j.items)
	for _, t := range types {
		j.report.Types = append(j.report.Types, *t)
	}
	slices.SortFunc(j.report.Types, func(a, b TypeCount) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.DType, b.DType))
	})
	if again > 0 {
		j.warn("%d tensors were quantized already and are quantized again: converting the original model loses less", again)
	}
	if unweighed > 0 {
		j.warn("%d tensors are not in the importance matrix: their columns are weighed alike", unweighed)
	}
	if other > 0 {
		j.warn("%d tensors have rows that are not whole blocks of %s and get types that fit", other, j.o.Mix)
	}
	return nil
}

// embedding reports whether a tensor is a table of tokens, whose importance is not
// measured.
func embedding(name string) bool { return name == "token_embd.weight" || name == "output.weight" }

// weigh looks up the importance of a tensor's columns, for each of its matrices.
func (j *job) weigh(it *item) error {
	matrices := 1
	if n := len(it.shape); n > 2 {
		matrices = it.shape.Rows() / it.shape[n-2]
	}
	var all [][]float32
	for e := range matrices {
		w, err := j.o.Importance.Of(it.name, e, matrices, it.shape.Cols())
		if err != nil || w == nil {
			return err
		}
		all = append(all, w)
	}
	it.importance = all
	return nil
}

func (j *job) warn(format string, args ...any) {
	j.report.Warnings = append(j.report.Warnings, fmt.Sprintf(format, args...))
}

// wanted returns the type that the mix gives a tensor. Integers are not
// converted: they are indices, not weights.
func (j *job) wanted(it *item, tied bool, layers int) tensor.DType {
	if !it.from.Float() && !it.from.Quantized() {
		return it.from
	}
	name := it.name
	if tied && name == "token_embd.weight" { // tied embeddings
		name = "output.weight"
	}
	to := j.o.Mix.TypeFor(name, it.shape, layerOf(name), layers)
	if to == tensor.BF16 && name == "mm.input_projection.weight" {
		return tensor.F16 // llama.cpp turns it, which not all of its backends do with BF16 (its issue 13025)
	}
	return to
}

// widened returns the shape with columns that every block format divides.
func widened(s tensor.Shape) tensor.Shape {
	const values = 256 // in the largest blocks
	s = slices.Clone(s)
	if n := len(s); n > 0 {
		s[n-1] = (s[n-1] + values - 1) / values * values
	}
	return s
}

// layerOf returns the layer in a GGUF name, "blk.7.attn_q.weight", or 0.
func layerOf(name string) int {
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, ".")
	n, _ := strconv.Atoi(number)
	return n
}

// layers returns the number of layers, from the tensors' names.
func (j *job) layers() int {
	n := 0
	for _, it := range j.items {
		n = max(n, layerOf(it.name)+1)
	}
	return n
}
