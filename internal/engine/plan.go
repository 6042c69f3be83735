package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/embedded"
	"atenia/internal/model/file"
	"atenia/internal/model/lora"
)

// OpenFiles opens the files of a model: a .gguf file, a Hugging Face folder or
// its configuration, or for "" the embedded model.
func OpenFiles(path, configFile string, opts ...file.Option) (*file.Description, error) {
	if path == "" || path == embedded.Name {
		return file.OpenBytes(embedded.Name, embedded.Story())
	}
	if strings.EqualFold(filepath.Ext(path), ".sxlm") {
		return nil, fmt.Errorf("%s: a neuron-graph model; \"atenia run\" and \"atenia inspect\" take it, and programs open it with package quila", path)
	}
	if configFile == "" {
		path, configFile = Folder(path)
	}
	if configFile != "" {
		opts = append(opts, file.ConfigName(configFile))
	}
	return file.Open(path, opts...)
}

// OpenMerged is OpenFiles with the weights of the adapter in a folder merged in, "" = none.
// done closes the files and removes what was merged.
func OpenMerged(path, configFile, adapter string, opts ...file.Option) (d *file.Description, notes []string, done func() error, err error) {
	if d, err = OpenFiles(path, configFile, opts...); err != nil {
		return nil, nil, nil, err
	}
	notes, unmerge, err := lora.Load(d, adapter)
	if err != nil {
		return nil, nil, nil, errors.Join(err, d.Close())
	}
	return d, notes, func() error { return errors.Join(d.Close(), unmerge()) }, nil
}

// Folder returns the folder that the path of a configuration file means, and the file's
// name; any other path as it is, and "".
func Folder(path string) (folder, config string) {
	if filepath.Ext(path) != ".json" || !file.IsFile(path) {
		return path, ""
	}
	folder, config = filepath.Split(path)
	return filepath.Clean(folder), config
}

// PathOf returns the path that a model was opened with, "" for the embedded
// one.
func PathOf(d *file.Description) string {
	if d.Path == embedded.Name {
		return ""
	}
	return d.Path
}

// Display names a model by its path.
func Display(path string) string {
	if path == "" {
		return embedded.Name
	}
	return path
}

// Named puts the name of a model before an error that does not begin with it, or with a
// file in it.
func Named(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), Display(path)) {
		return err
	}
	return fmt.Errorf("%s: %w", Display(path), err)
}

// A Plan is the compiled form of a model, made from its headers, and the
// footprint for placing its tensors.
type Plan struct {
	Config Config
	Model  *compile.Model
	Totals file.Summary // of the files

	path      string    // for people
	files     pack.Disk // where other forms of the weights may be kept
	footprint *footprint
	account   *ledger.Account // of all that the model takes
	zeros     string          // how zero points of GPTQ digits are read, for stateKey; "" = there are none
	program   int64           // bytes of the process beside tensors; 0 = not measured
	whole     int64           // bytes of the process with all weights in memory
	room      int64           // bytes that it could have at the start
	spare     int64           // bytes that it could have without taking what is kept for others
	needed    int64           // bytes of all, if they do not fit and nobody set a budget; else 0
	effective *Config         // within what there is; nil before the model is opened

	noting sync.Mutex
	notes  []string // for the user, see Engine.Notes

	draft *draftPlan // nil = none

	adapters     []*lora.Bound // of Config.Adapters; their A and B until the engine has them
	adapterBytes atomic.Int64  // of these, and of those that are loaded later
}

// Compile makes the plan of a model. The description is needed no longer than
// for the call.
func Compile(d *file.Description, c Config) (*Plan, error) {
	m, err := compileModel(d, &c)
	if err != nil && d.Unread != "" {
		return nil, fmt.Errorf("%w (%s)", err, unread(d))
	}
	if err != nil {
		return nil, err
	}
	path := Display(PathOf(d))
	p := &Plan{Config: c, Model: m, Totals: d.Summary(), path: path, footprint: newFootprint(path, m, d), account: ledger.New(ledger.Process, c.Budget.RAM)}
	for _, line := range c.Notes {
		p.note("%s", line)
	}
	if err := p.readZeros(d); err != nil {
		return nil, err
	}
	p.files = p.packFiles(d)
	if err := p.readAdapters(); err != nil {
		return nil, err
	}
	if err := p.readDraft(); err != nil {
		return nil, err
	}
	for _, d := range m.Diagnostics {
		if d.Code == compile.OwnHead {
			p.note("%s", d.Text)
		}
	}
	if d.Unread != "" {
		p.note("%s", unread(d))
	}
	if n, trained := p.Context(), c.trained(&m.Config); n > trained && trained > 0 {
		p.note("a context of %d tokens is longer than the %d that the model was trained for: what it answers beyond them may make no sense", n, trained)
	}
	return p, nil
}

// unread says which of two lists of weights is read.
func unread(d *file.Description) string {
	return fmt.Sprintf("the weights are those of %s, and not those of %s beside it: remove the one that is not the model", filepath.Base(d.Parts[0].Path), d.Unread)
}

// Noted are lines for the user: what was found in the model's files, and what was decided
// about memory that nobody asked for.
func (p *Plan) Noted() []string {
	p.noting.Lock()
	defer p.noting.Unlock()
	return slices.Clone(p.notes)
}

// OpenPlan compiles a model from its header alone. If RAM has a budget, text loads
// what else a process has that runs the model, so that a placement reserves what
// it takes.
func OpenPlan(path, configFile string, c Config, text func(*file.Description) any) (*Plan, error) {
	d, err := OpenFiles(path, configFile, file.HeaderOnly())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	p, err := Compile(d, c)
	if err != nil {
		return nil, Named(path, err)
	}
	if c.Budget.RAM > 0 && text != nil {
		kept := text(d)
		p.MeasureProgram()
		p.reread()
		runtime.KeepAlive(kept)
	}
	return p, nil
}

// Path names the model for people.
func (p *Plan) Path() string { return p.path }

// Context returns how many tokens a sequence may have.
func (p *Plan) Context() int { return p.Config.context(&p.Model.Config) }

// Trained returns how many tokens the model's positions are for; 0 = it has no positions.
func (p *Plan) Trained() int { return p.Config.trained(&p.Model.Config) }

// StateBytes returns the bytes that one sequence keeps: a fixed part, and bytes
// for each token.
func (p *Plan) StateBytes() (fixed, perToken uint64) {
	return p.Model.Plans.Prefill.Plan.StateBytes()
}

// Account is what all that the model takes is reserved in.
func (p *Plan) Account() *ledger.Account { return p.account }
