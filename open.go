package atenia

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"atenia/internal/engine"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/pack"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/policy/observe"
	"atenia/internal/sched"
	"atenia/internal/sight"
	"atenia/internal/speech"
	"atenia/internal/text/token"
	"atenia/place"
)

// A Model is an open model. Its methods may be called from any goroutine:
// concurrent requests share batches, so that weights are read once for all of
// them. [Open] makes one; close it when it is no
// longer needed.
type Model struct {
	files    *file.Description
	plan     *Plan
	engine   *engine.Engine
	observer *observe.Observer // nil if nothing is observed
	accounts string            // folder for the account of this run; "" = none is written
	mark     *runMark          // that stands until it is written
	done     func() error      // closes the files, and removes weights that an adapter was merged with
	text     *text.Text
	eye      *sight.Eye  // nil if the model reads text alone
	ear      *speech.Ear // nil if the model does not transcribe
	// textErr says why text is incomplete: no tokenizer, or a chat template
	// that cannot be run. It is returned by what needs the missing part.
	textErr  error
	opened   Config // as it was opened
	vectors  vectors
	grammars text.Grammars
	digests  digests
	doubled  sync.Once // says of the first prompt that begins twice that it does
	close    sync.Once
}

// Open opens a .gguf file, a Hugging Face folder or its configuration, or the
// embedded model for the path "" or its name, "atenia-story". Weights are mapped,
// not read; the first tokens bring them in.
//
// A nil Config is enough for most programs: it uses every physical core and lets
// the system decide what of the model stays in memory. Set [Config.Budget] to run
// a model that is larger than the memory, and [Config.Context] for prompts of more
// than 4096 tokens.
//
// Open a model once and share it: opening compiles the plan and may pack the
// weights, which takes seconds for a large model. Canceling ctx stops Open only,
// not requests made later. The caller must call [Model.Close].
//
// Errors say what is damaged and where: they name the tensor or the offset in the
// file, what was expected, and what to do. A bad configuration is one or more
// [*ConfigError]; a budget that is too small is a [*place.FloorError].
//
// Files stay mapped until Close: replace a model by writing a new file and renaming it.
// If one is written to, as by cp, requests end with a [*ChangedError]; [Config.NoMmap]
// copies the files instead.
func Open(ctx context.Context, path string, c *Config) (*Model, error) {
	return guarded(func() (*Model, error) { return open(ctx, path, c) })
}

// guarded runs f, which reads files that are mapped: one that another program shortens
// meanwhile is a [*ChangedError].
func guarded[T any](f func() (T, error)) (v T, err error) {
	err = file.Guard(func() (err error) {
		v, err = f()
		return err
	})
	if _, changed := errors.AsType[*file.ChangedError](err); changed {
		err = publish(err)
	}
	return v, err
}

func open(ctx context.Context, path string, c *Config) (*Model, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	observer, err := openObserver(ctx, cfg.Observe)
	if err != nil {
		return nil, err
	}
	files, notes, done, err := engine.OpenMerged(path, cfg.ConfigFile, cfg.Adapter, file.Tower(cfg.Tower), file.Copied(cfg.NoMmap), file.GPTQZeros(cfg.GPTQZeros))
	if err != nil {
		return nil, errors.Join(err, observer.Close())
	}
	m := &Model{files: files, done: done, observer: observer, accounts: cfg.Observe.Account, opened: cfg}
	m.mark = markRun(m.accounts, m.Path())
	if err := m.load(ctx, &cfg, notes); err != nil {
		m.mark.drop()
		return nil, errors.Join(engine.Named(path, err), observer.Close(), m.done())
	}
	return m, nil
}

func (m *Model) load(ctx context.Context, c *Config, notes []string) error {
	e := c.engine()
	e.Observer, e.Notes = m.observer, notes
	defer engine.LimitHeap(e.Budget.RAM)()
	p, err := engine.Compile(m.files, e)
	if err != nil {
		return publish(err)
	}
	m.plan = newPlan(p)
	if err := m.loadText(c); err != nil {
		return err
	}
	if err := checkDraft(c, p, m.text); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.openSight(); err != nil {
		return err
	}
	if m.engine, err = engine.Open(ctx, p, m.files); err != nil {
		return publish(err)
	}
	if err := m.openEar(); err != nil {
		return errors.Join(err, m.engine.Close())
	}
	return nil
}

// loadText loads what the model needs for text. Without it, or with a
// tokenizer that cannot be run, a model still computes with token ids; what
// needs text returns the reason. Damage is an error.
func (m *Model) loadText(c *Config) (err error) {
	if m.text, err = text.Load(m.files); err == nil {
		return nil
	}
	_, unknown := errors.AsType[*token.UnknownError](err)
	// The vocabulary of a GGUF file was made from the model's own tokenizer, and
	// not every converter leaves one that can be run.
	_, unfit := errors.AsType[*token.FormatError](err)
	switch {
	case text.Partial(err):
	case unknown, unfit && m.files.Format == file.GGUF:
		m.text = &text.Text{Sampling: text.Usual}
	default:
		return err
	}
	m.textErr = engine.Named(m.Path(), err)
	if m.text.Tokenizer == nil {
		m.textErr = noTokenizer{m.textErr}
	}
	c.Logger.Warn("text is incomplete", "err", m.textErr)
	return nil
}

// Close ends all requests, waits for the step in flight, unmaps the weights and
// completes what was observed. If the configuration is strict it fails when
// the process had more memory than its budget. It is idempotent.
func (m *Model) Close() error {
	var err error
	m.close.Do(func() {
		if m.ear != nil {
			m.ear.Close()
		}
		err = errors.Join(m.vectors.close(), m.engine.Stop()) // what is counted does not change any more
		if m.eye != nil {
			m.eye.Close()
		}
		err = errors.Join(err, m.account(), m.engine.Close(), m.observer.Close(), m.done())
	})
	return err
}

// Path returns the path the model was opened with, "" for the embedded one.
func (m *Model) Path() string { return engine.PathOf(m.files) }

// Context returns how many tokens a sequence may have: [Config].Context, or fewer if
// CacheBytes has memory for the keys and values of fewer.
func (m *Model) Context() int { return m.engine.Sched.Context() }

// Vocab returns the number of tokens, the width of a row of logits.
func (m *Model) Vocab() int { return m.plan.compiled.Model.Config.Vocab }

// Family returns the name of the model's family, such as "llama".
func (m *Model) Family() string { return m.plan.Family }

// Plan returns the plan the model runs.
func (m *Model) Plan() *Plan { return m.plan }

// Memory returns the bytes of mapped weights, of cached keys and values, and
// of scratch. The second number changes as requests come and go.
func (m *Model) Memory() (weights, cache, scratch int64) {
	return m.plan.compiled.Totals.Bytes, m.engine.Sched.CacheBytes(), m.engine.ScratchBytes()
}

// Packing returns what was decided when the model was opened.
func (m *Model) Packing() place.Packing { return newPacking(m.engine.Packing()) }

func newPacking(d pack.Decision) place.Packing {
	return place.Packing{
		Asked: d.Asked.String(), Mode: d.Mode.String(), Matrices: d.Matrices, Bytes: d.Bytes, Source: d.Source,
		Available: d.Available, Reserve: d.Reserve, Evict: d.Evict, Because: d.Because, Path: d.Path, Wrote: d.Wrote, Held: d.Held,
		Fault: d.Fault, Line: d.String(),
	}
}

// An Adapter is a LoRA adapter that is kept beside the weights of a model, for the
// requests that name it. [Config].Adapter instead merges one into the weights, which is
// faster by what an adapter costs in each step, and excludes others.
type Adapter struct {
	Name string // by which requests name it
	// Path is a folder in the format of huggingface/peft (adapter_config.json and
	// adapter_model.safetensors), for models of any format; or a .gguf file of
	// llama.cpp's, for models that are GGUF files.
	Path string
	// Scale multiplies what the adapter adds. 0 = 1.
	Scale float32
}

// An AdapterInfo is an adapter that a model has.
type AdapterInfo struct {
	Adapter
	Updates int   // matrices whose products it changes
	Rank    int   // the largest of them
	Bytes   int64 // of memory
	Users   int   // requests that have it
}

// ErrAdapter matches errors about the name of an adapter: one that a model does not
// have, or, when it is loaded, one that it has.
var ErrAdapter = engine.ErrAdapter

// ErrNoRoom matches the error of [Model.LoadAdapter] for an adapter that the budget has
// no room for.
var ErrNoRoom = ledger.ErrFull

// Adapters returns the adapters that requests may name, in the order in which they
// were loaded.
func (m *Model) Adapters() []AdapterInfo {
	var out []AdapterInfo
	for _, a := range m.engine.Adapters() {
		i := AdapterInfo{Adapter: Adapter(a.AdapterFile), Updates: len(a.Plan.Updates), Bytes: a.Bytes, Users: a.Users}
		for k := range a.Plan.Updates {
			i.Rank = max(i.Rank, a.Plan.Updates[k].Rank)
		}
		out = append(out, i)
	}
	return out
}

// LoadAdapter adds an adapter while the model is open, within its budget. It fails with
// [ErrAdapter] if there is one of that name, with [ErrNoRoom] if the budget has no room
// for it, or if it changes other things than products of matrices, which only merging
// it can do.
func (m *Model) LoadAdapter(a Adapter) error {
	if err := errors.Join(checkAdapters([]Adapter{a})...); err != nil {
		return err
	}
	_, err := guarded(func() (struct{}, error) {
		return struct{}{}, m.engine.LoadAdapter(adapterFiles([]Adapter{a})[0])
	})
	return err
}

// UnloadAdapter makes an adapter unknown to later requests. Those that have it go on,
// and the last one frees its memory.
func (m *Model) UnloadAdapter(name string) error { return m.engine.UnloadAdapter(name) }

// adapt gives a request an adapter, which it has until it ends.
func (m *Model) adapt(r *sched.Request, name string, scale float32) error {
	if !usable(scale) {
		return &ConfigError{"AdapterScale", scale, adapterScales}
	}
	if name == "" {
		return nil
	}
	low, own, release, err := m.engine.BorrowAdapter(name)
	if err != nil {
		return err
	}
	r.LowRank, r.Strength, r.Adapter, r.Ended = low, cmp.Or(scale, own), name, release
	return nil
}

// adapterScales says what can multiply an adapter.
const adapterScales = "-1000 to 1000"

func usable(scale float32) bool { return math.Abs(float64(scale)) <= 1000 }

// checkAdapters returns what is wrong with adapters of a configuration.
func checkAdapters(list []Adapter) (errs []error) {
	names := map[string]bool{}
	for _, a := range list {
		switch {
		case a.Name == "" || a.Path == "":
			errs = append(errs, &ConfigError{"Adapters", nil, fmt.Sprintf("an adapter has the name %q and the path %q: both are needed", a.Name, a.Path)})
		case names[a.Name]:
			errs = append(errs, &ConfigError{"Adapters", nil, fmt.Sprintf("two adapters are named %q", a.Name)})
		case !usable(a.Scale):
			errs = append(errs, &ConfigError{"Adapters", a.Scale, adapterScales})
		}
		names[a.Name] = true
	}
	return errs
}

// adapterFiles returns adapters as the engine has them.
func adapterFiles(list []Adapter) []engine.AdapterFile {
	var out []engine.AdapterFile
	for _, a := range list {
		a.Scale = cmp.Or(a.Scale, 1)
		out = append(out, engine.AdapterFile(a))
	}
	return out
}
