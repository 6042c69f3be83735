package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/fault"
	"atenia/internal/model/quant"
	"atenia/internal/store/durable"
)

// The formats of a [Description].
const (
	GGUF        = "gguf"
	HuggingFace = "huggingface"
	Safetensors = "safetensors" // one file of tensors without a configuration
)

// A Description is the content of a model file or folder: settings, small texts,
// and every tensor as a view of the mapped file.
//
// Views, [Tensor] values and metadata arrays are valid until Close. All methods
// but Close are safe for concurrent use.
type Description struct {
	Path   string // as given to [Open]
	Bytes  bool   // it was opened by [OpenBytes], from no file
	Format string // GGUF, HuggingFace or Safetensors

	Config []byte            // config.json, unparsed (huggingface)
	Meta   Metadata          // keys and values in order (gguf, safetensors)
	Files  map[string][]byte // small files by name: "tokenizer.json", "1_Pooling/config.json" (huggingface); nil = a vocabulary to read, see [Description.ReadVocabularies]

	Tensors []Tensor     // gguf: in the order of the header; safetensors: in the order of their data; file by file
	Parts   []Part       // the files that hold tensors
	Packed  string       // method by which the folder was quantized, if Tensors are the matrices that it means (see package quant); else ""
	Unread  string       // an index of further files of weights beside the one that is read; "" = there is none (huggingface)
	Absent  error        // the first file of weights that an index names and that is not there, see [HeaderOnly]; nil = all are
	Zeros   *quant.Zeros // how zero points of GPTQ digits are read; nil if there are none

	Version   int // of the GGUF format, else 0
	Alignment int // of tensors in a GGUF file, else 0

	names  []int32 // positions of Tensors sorted by name
	closed bool
	copied bool // files are read into memory and not mapped
}

// An Option changes the behaviour of [Open].
type Option func(*options)

type options struct {
	config     string
	headerOnly bool
	tower      string // path; "" = look beside the model
	copied     bool
	zeros      string // of GPTQ digits, as [quant.Read] takes it
}

// ConfigName makes Open read the configuration of a Hugging Face folder from a
// file other than config.json.
func ConfigName(name string) Option { return func(o *options) { o.config = name } }

// HeaderOnly accepts a Hugging Face folder without weight files, for callers
// that need only the configuration. Files that are present are still checked.
//
// Even without this option, Open reads headers only: tensors' bytes come from
// disk when they are first touched.
func HeaderOnly() Option { return func(o *options) { o.headerOnly = true } }

// Copied reads files into memory instead of mapping them, so that no other program
// changes what is read from then on.
func Copied(yes bool) Option { return func(o *options) { o.copied = yes } }

// GPTQZeros says of which version zero points of GPTQ digits are, as [quant.Read] takes it.
func GPTQZeros(version string) Option { return func(o *options) { o.zeros = version } }

// Open reads a .gguf file (any file of a split model) or a Hugging Face folder.
// Damage that is evident from the headers and the sizes of the files is a
// [*FormatError].
func Open(path string, opts ...Option) (*Description, error) {
	o := options{config: "config.json"}
	for _, opt := range opts {
		opt(&o)
	}
	st, err := durable.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FormatError{File: path, Want: expected, Got: "nothing of that name", Err: fs.ErrNotExist}
	case err != nil:
		return nil, err
	case st.IsDir():
		return openFolder(path, o)
	}
	d, err := openGGUF(path, o)
	if err != nil {
		return nil, err
	}
	return d.withTower(o.tower)
}

const expected = "a .gguf file or a Hugging Face folder (config.json and *.safetensors)"

// OpenBytes reads a GGUF file in memory without copying it. The bytes must not
// change while the description is in use. name is used as the path.
func OpenBytes(name string, gguf []byte) (*Description, error) {
	d := &Description{Path: name, Bytes: true, Format: GGUF}
	g, err := parseGGUF(name, gguf)
	if err != nil {
		return nil, err
	}
	if n, ok, err := g.meta.Uint(splitCount); err != nil || ok && n > 1 {
		return nil, &FormatError{File: name, Field: fmt.Sprintf("metadata %q", splitCount), Want: "a model in one piece", Got: "a part of a split one", Fix: "merge the parts into one file", Err: err}
	}
	d.add(g, &Part{Path: name, Bytes: int64(len(gguf)), data: gguf})
	return d, d.finish()
}

// openGGUF opens a file, and its siblings if the model is split.
func openGGUF(path string, o options) (d *Description, err error) {
	d = &Description{Path: path, Format: GGUF, copied: o.copied}
	defer func() { d, err = d.unlessFailed(err) }()
	p, err := d.mapFile(path)
	if err != nil {
		return d, err
	}
	if !strings.EqualFold(filepath.Ext(path), ".gguf") && !strings.HasPrefix(string(p.data[:min(len(p.data), len(magic))]), magic) {
		return d, errors.Join(notAModel(path), p.close())
	}
	g, err := parseGGUF(path, p.data)
	if err != nil {
		return d, errors.Join(err, p.close())
	}
	s, ok, err := splitOf(g)
	if err != nil || ok {
		err = errors.Join(err, p.close()) // openSplit opens every part again
	}
	switch {
	case err != nil:
		return d, err
	case ok:
		return d, d.openSplit(s)
	}
	d.add(g, p)
	return d, d.finish()
}

// notAModel returns the error for a file that is not a model.
func notAModel(path string) error {
	e := &FormatError{File: path, Want: expected, Got: "a file of another kind"}
	if filepath.Ext(path) == ".safetensors" || filepath.Base(path) == "config.json" {
		e.Fix = "name the folder that holds the file: " + filepath.Dir(path)
	}
	return e
}

// add appends a parsed file. The first one supplies the metadata.
func (d *Description) add(g *gguf, p *Part) {
	if len(d.Parts) == 0 {
		d.Meta, d.Version, d.Alignment = g.meta, int(g.version), g.align
	}
	p.Data = int64(g.data)
	d.Parts = append(d.Parts, *p)
	if d.Tensors == nil {
		d.Tensors = g.tensors
	} else {
		d.Tensors = append(d.Tensors, g.tensors...)
	}
}

// finish builds the index of names after all tensors were added.
func (d *Description) finish() (err error) {
	d.names, err = byName(d.Tensors)
	return err
}

// unlessFailed returns the description, or closes it if err is not nil.
func (d *Description) unlessFailed(err error) (*Description, error) {
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Tensor returns the tensor with the given name.
func (d *Description) Tensor(name string) (*Tensor, bool) {
	i, ok := slices.BinarySearchFunc(d.names, name, func(i int32, name string) int {
		return strings.Compare(d.Tensors[i].Name, name)
	})
	if !ok {
		return nil, false
	}
	return &d.Tensors[d.names[i]], true
}

// Advise tells the system how the bytes of the given tensors will be used;
// without tensors, those of all files. It does nothing if files are not mapped.
func (d *Description) Advise(a Advice, ts ...*Tensor) error {
	if int(a) >= numAdvices {
		return fmt.Errorf("advice: want at most %d, got %d", numAdvices-1, a)
	}
	for i := range d.Parts {
		if p := &d.Parts[i]; len(ts) == 0 && p.unmap != nil {
			if err := advise(p.data, a); err != nil {
				return fmt.Errorf("advise %s: %w", p.Path, err)
			}
		}
	}
	for _, t := range ts {
		i := slices.IndexFunc(d.Parts, func(p Part) bool { return p.Path == t.File })
		if i < 0 || d.Parts[i].unmap == nil {
			continue
		}
		if err := advise(t.View.Data, a); err != nil {
			return fmt.Errorf("advise tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// A ChangedError says that another program wrote to a file of an open model.
type ChangedError = fault.ChangedError

// Intact returns a [*ChangedError] if another program wrote to a mapped file since it
// was opened.
func (d *Description) Intact() error {
	for i := range d.Parts {
		if err := d.Parts[i].intact(); err != nil {
			return err
		}
	}
	return nil
}

// Guard returns the error of f, or a [*ChangedError] if f read bytes of a mapped file
// that another program has taken away.
func Guard(f func() error) error { return fault.Files(f) }

// Close unmaps the files. Afterwards the description's tensors have no data and
// its metadata no arrays; copies of either must not be used any more. Close may
// be called more than once.
func (d *Description) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	d.Meta.drop()
	for i := range d.Tensors {
		d.Tensors[i].View.Data, d.Tensors[i].made = nil, nil
	}
	var errs []error
	for i := range d.Parts {
		errs = append(errs, d.Parts[i].close())
	}
	return errors.Join(errs...)
}

// IsFile reports whether there is a regular file at path, or a link to one that is gone,
// which opening it will tell.
func IsFile(path string) bool {
	fi, err := durable.Stat(path)
	_, link := errors.AsType[*durable.ForeignError](err)
	return link || err == nil && fi.Mode().IsRegular()
}
