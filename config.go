package atenia

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"atenia/internal/engine"
	"atenia/internal/exec"
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/cuda"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/observe"
	"atenia/internal/sample"
	"atenia/internal/sched"
	"atenia/internal/text/chat"

	"atenia/internal/machine/hw"
	"atenia/place"
	"atenia/tensor"
)

// A Config chooses how [Open] and [OpenPlan] treat a model. The zero value, or a
// nil pointer, is ready to use. Config is copied: changing it later has no effect.
//
// Fields about threads, batches, packing, budget and placement do not change
// results. CacheType and Precise do, as they round differently, and so do
// Adapter, ConfigFile and GPTQZeros.
type Config struct {
	// Context is the maximum number of tokens of a sequence, prompt and answer
	// together. 0 = what the model was made for, at most 4096. A longer context
	// takes more memory for keys and values: see [Plan.StateBytes].
	Context int
	// Threads is the number of threads that compute. 0 = physical cores, at most
	// those that affinity and the control group's quota allow. More threads than
	// cores are slower.
	Threads int
	// Slots is the maximum number of sequences computed at once; further requests
	// wait. 0 = 4. A server wants about as many as it has users at a time.
	Slots int
	// BatchTokens is the maximum number of tokens in one step; longer prompts are
	// computed in several. 0 = 512. Less keeps other requests waiting for a shorter
	// time, more computes long prompts faster.
	BatchTokens int
	// CacheType is the element type of cached keys and values: "f32", "f16"
	// or "q8_0". "" = f16 where weights are quantized, f32 otherwise. Smaller
	// types hold more sequences and read faster; q8_0 costs some accuracy.
	CacheType string
	// CacheBytes bounds the memory of cached keys and values, and with it how long a sequence
	// may be ([Model.Context]). 0 = no bound. If it
	// is used up, the cache of finished requests is evicted first.
	CacheBytes int64
	// KeepBytes is how much of that memory ended requests may keep whose slots were
	// given to others, so that what many prompts begin with, or a conversation that
	// is continued later, is not computed again. What was not used for longest goes
	// first, and all of it before a running request lacks memory. 0 = 256 MiB, or
	// half of what keys and values may take if that is less; negative = nothing is
	// kept beyond the slots.
	KeepBytes int64
	// CacheDir is a folder for keys and values that left their slots, so that what prompts
	// begin with is read instead of computed, also after a restart. It is used where
	// reading is estimated to be quicker: [Model.Why] says so for each request. Several
	// models and processes may use a folder at a time; files of other models, adapters and
	// settings are never used. The text of prompts can be read from the files, which have
	// mode 0600. "" = keys and values stay in memory.
	CacheDir string
	// CacheDisk is the most bytes of files in CacheDir, those of earlier runs and of other
	// models included; those that were not used for longest are removed. 0 = 4 GiB.
	CacheDisk int64
	// PageTokens is the number of tokens in a page of the cache: 16, 32 or
	// 64. 0 = 16.
	PageTokens int
	// Pack says where weights live in the order in which kernels stream them:
	// "memory", "disk" (in a file beside the model that is made once and mapped
	// from then on), "off" (they are read as the file has them) or "auto". "" =
	// auto: memory, if there is enough. Results are the same bytes.
	Pack string
	// PackDir is a folder for files of packed weights whose models lie where
	// nothing may be written. "" = none.
	PackDir string
	// PackVerify reads such a file and the model whole when it is opened, and
	// compares both with the hashes that were taken when it was made. Otherwise
	// sizes, times, the ends of every matrix and the file's index are compared.
	PackVerify bool
	// Codec says in which form float weights are streamed, if some are: "off" (as
	// the file has them), "planehuff" (bfloat16) or "planezstd" (any floats) in a
	// file beside the model that is made once, or "auto": in such a file if that is
	// there, or Pack is "disk", and decoding is faster than the disk. "" = auto.
	// Results are the same bytes.
	Codec string
	// Budget bounds the memory of the process. A model that does not fit is
	// streamed from the disk in part; results are the same bytes. One sequence
	// of the context's length has room then, unless CacheBytes says otherwise.
	//
	// Without a budget, a model that does not fit in the memory that can be
	// allocated, of the machine and of the control group, is opened as with
	// ram=auto: [Streaming].Notes says so.
	Budget place.Budget
	// NoStream maps a model that does not fit and has no budget. The system then
	// reads its weights again in every pass, in an order that suits it: that is
	// usually slower than streaming.
	NoStream bool
	// NoMmap reads the model's files into memory instead of mapping them, as llama.cpp's
	// option of that name does. Opening takes as long as reading them, and the system
	// cannot take the memory back; but no other program can change or shorten what the
	// model computes with. A mapped model notices that, and its requests end with a
	// [*ChangedError]. It cannot be combined with a Budget or a Placement.
	NoMmap bool
	// PlacementFile is a file that says where each tensor lives, as [WritePlacement]
	// writes it. "" = tensors are placed by the budget.
	PlacementFile string
	// Placement are the rules by which tensors are placed within the budget.
	Placement place.Rules
	// Decisions is a file to which every placement decision is appended, for
	// [Replay]. "" = none.
	Decisions string
	// Checkpoint is a folder that remembers: which weights were wanted in which
	// memory, and keys and values of the last conversations. A model that is opened
	// with the folder again follows the one within its budget and continues the
	// others without computing them again, with the same results.
	// [Model.Close] saves it; [Model.Checkpoint] says what was found. One process
	// at a time may use a folder, and with one model. "" = none.
	Checkpoint string
	// Verify checks streamed weights against a checksum of the first read, to
	// detect a disk that returns wrong bytes or a file that changes.
	Verify bool
	// Observe chooses what is recorded while the model runs: traces, metrics, what
	// is learned from latencies.
	Observe Observation
	// Strict turns fallbacks that are otherwise only logged into errors that match
	// [ErrStrict]: streamed weights that go through the system's cache, packed
	// weights on disk that cannot be used, and memory use beyond the budget, which
	// [Model.Close] reports.
	Strict bool
	// Precise keeps activations in float32. By default, products with quantized
	// weights round them to 8 bits, which is faster. Use it to compare
	// with other implementations.
	Precise bool
	// Backend names what runs programs, in order of preference: "cpu", or "graph", which
	// records a step and computes it at its end, as the drivers of devices do, with the same
	// results. It takes steps of at most 512 tokens; with "graph,cpu" larger ones run as
	// usual, otherwise they are an error. "" = cpu.
	Backend string
	// NoFuse runs the plan without fused instructions, to find faults of the
	// compiler. Slower.
	NoFuse bool
	// ConfigFile is the name of the configuration in a Hugging Face folder.
	// "" = config.json.
	ConfigFile string
	// GPTQZeros is the version of the zero points of a folder that GPTQ quantized: "v1"
	// (stored less one) or "v2". Symmetric digits tell it, and folders say it in
	// checkpoint_format, some of them wrongly: where nothing tells whether that is right,
	// Logger is warned and [Streaming].Notes says so. A model without GPTQ digits is an
	// error. "" = what the digits tell, or else the folder.
	GPTQZeros string
	// Tower is the GGUF file with the model's image tower ("mmproj"). "" = the
	// file beside the model whose name is the model's after "mmproj-", if any.
	Tower string
	// Adapter is the folder of a LoRA adapter (adapter_config.json and
	// adapter_model.safetensors) that the weights are merged with as the model is
	// opened. "" = none. Merged weights are in a temporary file until it is closed.
	Adapter string
	// Adapters are LoRA adapters that requests name ([Options].Adapter). They are kept
	// beside the weights, which stay as they are, of any type: requests with different
	// adapters and without share batches. [Model.LoadAdapter] adds further ones.
	Adapters []Adapter
	// Speculate is [Options].Speculate of requests that leave it open: "auto", "lookup",
	// "draft" or "off". "" = auto, or off with Observe.Timeline: how many steps an answer takes
	// depends on measured times then.
	Speculate string
	// Draft is the path of a smaller model with the same tokens, which drafts: it is asked
	// for the tokens that may follow, and the model verifies several of them in one step,
	// where that is measured to pay. Answers are the same, seed by seed. Its weights, keys
	// and values are within the budget, CacheBytes is divided between both, and sequences
	// that are longer than its context, or have images, have no drafts of it. "" = none.
	//
	// "early" drafts with a quarter of the model's own layers, the first ones, and the head,
	// which take no memory, and "early:N" with N of them; not while weights are streamed.
	Draft string
	// Pooling makes an encoder of the model, for [Model.Embed]: "mean", "cls" (the
	// first token) or "last" of its last hidden states make the vector of a text;
	// "none" gives one for each token, for [Model.EmbedTokens]. "" = what the model
	// was made for. A model that generates text does not while it is an encoder.
	Pooling string
	// RawVectors leaves vectors at the length they have. Otherwise they are
	// normalized, unless the model's makers do not.
	RawVectors bool
	// Logger receives messages about opening the model and about fallbacks. nil
	// discards them.
	Logger *slog.Logger

	inputs     func(weight string, expert int, rows []float32, cols int) // of [MeasureImportance]
	allThreads bool                                                      // Threads was set
	limit      func() (bytes int64, stalled bool)                        // what the process may have; nil outside of tests
	delay      func() (time.Duration, bool)                              // how long threads waited for processors; nil outside of tests
}

// backendNames is what a list of backends may be.
const backendNames = "cpu, graph, or both in order of preference"

// withDefaults returns a copy with defaults filled in, or every fault in one
// error.
func (c *Config) withDefaults() (Config, error) {
	var d Config
	if c != nil {
		d = *c
	}
	d.allThreads = d.Threads != 0
	if d.Threads == 0 {
		d.Threads = cpu.Threads()
	}
	if d.Slots == 0 {
		d.Slots = 4
	}
	if d.BatchTokens == 0 {
		d.BatchTokens = 512
	}
	if d.CacheDisk == 0 {
		d.CacheDisk = 4 << 30
	}
	if d.PageTokens == 0 {
		d.PageTokens = 16
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	var errs []error
	for _, f := range []struct {
		name     string
		v        int
		min, max int
	}{
		{"Context", d.Context, 0, 1 << 24}, {"Threads", d.Threads, 1, 1024}, {"Slots", d.Slots, 1, 256},
		{"BatchTokens", d.BatchTokens, min(d.Slots, 256), 1 << 16},
	} {
		if f.v < f.min || f.v > f.max {
			errs = append(errs, &ConfigError{f.name, f.v, fmt.Sprintf("%d to %d", f.min, f.max)})
		}
	}
	switch d.PageTokens {
	case 16, 32, 64:
	default:
		errs = append(errs, &ConfigError{"PageTokens", d.PageTokens, "16, 32 or 64"})
	}
	if _, err := cacheType(d.CacheType); err != nil {
		errs = append(errs, err)
	}
	if _, err := pack.ParseMode(d.Pack); err != nil {
		errs = append(errs, &ConfigError{"Pack", d.Pack, pack.Modes()})
	}
	if !slices.Contains(engine.Codecs, d.Codec) {
		errs = append(errs, &ConfigError{"Codec", d.Codec, "auto, off, planehuff or planezstd"})
	}
	if _, err := exec.Backends(d.Backend); err != nil {
		errs = append(errs, &ConfigError{"Backend", d.Backend, backendNames})
	}
	errs = append(errs, d.checkPlacement()...)
	if _, err := speculation("Speculate", d.Speculate); err != nil {
		errs = append(errs, err)
	}
	if _, _, err := d.early(); err != nil {
		errs = append(errs, err)
	}
	if err := engine.CheckZeros(d.GPTQZeros); err != nil {
		errs = append(errs, publish(err))
	}
	if d.Pooling != "" && !slices.Contains(compile.Pools, d.Pooling) {
		errs = append(errs, &ConfigError{"Pooling", d.Pooling, "mean, cls, last or none"})
	}
	if d.NoStream && (d.Budget.RAM != 0 || len(d.Placement.Pins) > 0 || d.PlacementFile != "") {
		errs = append(errs, &ConfigError{"NoStream", nil, "a budget and a placement are kept by streaming what does not fit: use it without a budget of RAM, pins and a placement file"})
	}
	if d.NoMmap && (d.Budget != (place.Budget{}) || len(d.Placement.Pins) > 0 || d.PlacementFile != "") {
		errs = append(errs, &ConfigError{"NoMmap", nil, "the whole model is kept in memory then: use it without a budget, pins and a placement file"})
	}
	errs = append(errs, checkAdapters(d.Adapters)...)
	if d.CacheBytes < 0 {
		errs = append(errs, &ConfigError{"CacheBytes", d.CacheBytes, "0 or more"})
	}
	d.Adapters = slices.Clone(d.Adapters)
	if d.CacheDisk < 0 {
		errs = append(errs, &ConfigError{"CacheDisk", d.CacheDisk, "0 or more"})
	}
	return d, errors.Join(errs...)
}

func cacheType(s string) (tensor.DType, error) {
	if s == "" {
		return tensor.Invalid, nil
	}
	switch d, err := tensor.ParseDType(s); {
	case err == nil && (d == tensor.F32 || d == tensor.F16 || d == tensor.Q8_0):
		return d, nil
	}
	return tensor.Invalid, &ConfigError{"CacheType", s, "f32, f16 or q8_0"}
}

// speculation returns what a field of that name says about drafts.
func speculation(field, s string) (v sched.Speculation, err error) {
	if v.UnmarshalText([]byte(s)) != nil {
		return v, &ConfigError{field, s, "auto, lookup, draft or off"}
	}
	return v, nil
}

// early reports whether the model's first layers draft, and how many; 0 = as many as usual.
func (c *Config) early() (yes bool, layers int, err error) {
	if c.Draft == engine.EarlyLayers {
		return true, 0, nil
	}
	n, ok := strings.CutPrefix(c.Draft, engine.EarlyLayers+":")
	if !ok {
		return false, 0, nil
	}
	if layers, err = strconv.Atoi(n); err != nil || layers < 1 {
		return false, 0, &ConfigError{"Draft", c.Draft, "early, or early:N with N of 1 or more layers"}
	}
	return true, layers, nil
}

// engine returns the configuration of the engine. c is complete and checked.
func (c *Config) engine() engine.Config {
	mode, _ := pack.ParseMode(c.Pack)
	cache, _ := cacheType(c.CacheType)
	raw := compile.ByTensor
	speculate := sched.SpeculateAuto
	if c.Speculate != "" {
		speculate, _ = speculation("", c.Speculate)
	} else if c.Observe.Timeline != "" {
		speculate = sched.SpeculateOff
	}
	if c.RawVectors {
		raw = compile.Absent
	}
	early, layers, _ := c.early()
	draft := c.Draft
	if early {
		draft = ""
	}
	return engine.Config{
		Context: c.Context, Threads: c.Threads, AllThreads: c.allThreads, Slots: c.Slots, BatchTokens: c.BatchTokens, CacheBytes: c.CacheBytes, KeepBytes: c.KeepBytes, CacheDir: c.CacheDir, CacheDisk: c.CacheDisk,
		Compile:  compile.Options{KVType: cache, PageTokens: c.PageTokens, NoFuse: c.NoFuse, Pool: c.Pooling, Normalize: raw},
		Adapters: adapterFiles(c.Adapters),
		Pack:     mode, PackDir: c.PackDir, PackVerify: c.PackVerify, Codec: c.Codec, Lora: c.Adapter, Tower: c.Tower, GPTQZeros: c.GPTQZeros,
		Speculate: speculate, Draft: draft, Early: early, EarlyLayers: layers,
		Budget: c.Budget, Rules: c.Placement, PlacementFile: c.PlacementFile, Decisions: c.Decisions, NoStream: c.NoStream, NoMap: c.NoMmap,
		Checkpoint: c.Checkpoint, Sources: c.sources(), Verify: c.Verify, Strict: c.Strict, Precise: c.Precise, Backend: c.Backend, Inputs: c.inputs, Logger: c.Logger, Limit: c.limit, Delay: c.delay, Devices: c.devices,
	}
}

// sources returns the files beside the model's that its weights are made from.
func (c *Config) sources() []string {
	if c.Adapter == "" {
		return nil
	}
	return []string{filepath.Join(c.Adapter, "adapter_config.json"), filepath.Join(c.Adapter, "adapter_model.safetensors")}
}

// checkPlacement returns the faults of what a placement is made by.
func (c *Config) checkPlacement() (errs []error) {
	b, r := &c.Budget, &c.Placement
	if why := b.Faults(); why != "" {
		errs = append(errs, &ConfigError{"Budget", b.String(), "0 bytes or more: " + why})
	}
	for _, err := range engine.Faults(r) {
		errs = append(errs, &ConfigError{"Placement", nil, err.Error()})
	}
	return errs
}

// ParseBudget reads "ram=2GiB,vram=0,kv=256MiB,act=64MiB,runtime=80MiB". Each
// part may be left out; "ram=auto" is what the process may still take.
func ParseBudget(s string) (place.Budget, error) {
	b, err := engine.ParseBudget(s)
	if err != nil {
		return place.Budget{}, &ConfigError{"Budget", s, engine.BudgetSyntax + ": " + err.Error()}
	}
	return b, nil
}

// SetBudget sets one size of those that [ParseBudget] knows, such as "ram" to "2GiB" or
// "auto".
func SetBudget(b *place.Budget, name, size string) error { return engine.SetBudget(b, name, size) }

// An Observation chooses what is recorded while a model runs: a trace of what
// ran when, metrics for Prometheus, the order of reads and computing, and what
// is learned from latencies for [Explain]. The zero value writes nothing.
type Observation struct {
	// Trace is a file for a trace of what ran when, which ui.perfetto.dev shows.
	Trace string
	// Metrics is an address, such as ":9464", at which metrics are served for
	// Prometheus while the model is open.
	Metrics string
	// Listening, if not nil, is called with the address at which metrics are
	// served, which tells the port if Metrics asked for port 0.
	Listening func(net.Addr)
	// Timeline is a file for the order of reads and of computing, in lines that
	// are the same for equal runs.
	Timeline string
	// Learning is a file of what is learned from the latencies of tokens, which is
	// extended, and read by [Explain]; a second file beside it, with ".choices"
	// added to its name, has what was learned of this model's settings. With it the
	// model follows what was learned: it may compute tokens with fewer threads than
	// it has, read with fewer requests at once, or leave weights unpacked, where
	// that was measured to be faster. Trials of other settings lose at most a 64th
	// of the time. Results are the same bits. [Config].Threads, if set, is kept.
	Learning string
	// Account is a folder for an account of this run, which [ReadLastRun] reads:
	// where weights lay and why, how long tokens took, and what changed. [Model.Close]
	// writes it; the account of the model's run before is replaced. A run that does not
	// come so far leaves a mark there, which [LastRun].Later tells.
	Account string
	// Counters counts what steps do, for [Model.StepCounts].
	Counters bool
}

// openObserver opens what is asked for before anything of a model is read.
func openObserver(ctx context.Context, c Observation) (*observe.Observer, error) {
	o, err := observe.Open(ctx, observe.Config(c))
	if f, ok := errors.AsType[*observe.Fault](err); ok {
		return nil, &ConfigError{"Observe." + f.Field, f.Value, fmt.Sprintf("%s: %v", f.Want, f.Err)}
	}
	return o, err
}

// devices looks for those of this machine. What cannot be read is left out. How often calls
// of their drivers succeeded is kept beside accounts.
func (c *Config) devices(ctx context.Context) decide.Devices {
	o := hw.Options{GPUs: cuda.Prober{}}
	if c.Observe.Account != "" {
		o.Calls = filepath.Join(c.Observe.Account, hw.CallsName)
	}
	s, _, _ := hw.Probe(ctx, o)
	return decide.Devices{Snapshot: *s, Compute: exec.Devices()}
}

// Kinds of failure, for [errors.Is].
var (
	// ErrClosed is the error of requests to a closed model, and of those that
	// [Model.Close] ended.
	ErrClosed = sched.ErrClosed
	// ErrNoTokenizer matches errors about text for a model whose tokenizer is not there, or
	// cannot be run: it computes with token ids alone.
	ErrNoTokenizer = errors.New("the model has no tokenizer")
	// ErrNoTemplate is returned by [Model.Chat] for a model without a chat
	// template: use [Model.Generate] with text in the form the model knows.
	ErrNoTemplate = errors.New("the model has no chat template")
	// ErrNoWeights matches the error of [Plan.Place] for a folder that has a
	// configuration but no weights. [OpenPlan] works without.
	ErrNoWeights = engine.ErrNoWeights
	// ErrStrict matches errors about a fallback that [Config.Strict] forbids.
	ErrStrict = engine.ErrStrict
)

// A ConfigError names a field of a configuration, of [Sampling] too, whose value cannot be
// used. Several faults come joined in one error.
type ConfigError struct {
	Field string // such as "Threads" or "TopP"
	Got   any    // nil where Want says what is wrong
	Want  string // the values that can be used
}

// Error implements error.
func (e *ConfigError) Error() string { return (*engine.FieldError)(e).Error() }

// A ContextError says that a prompt is longer than the model's context.
// Shorten the prompt, or open the model with a larger Config.Context.
type ContextError struct {
	Prompt  int // tokens of the prompt
	Context int // tokens that a sequence may have
	// More says that the prompt has at least so many tokens: it was not tokenized, because no
	// text of so many bytes fits.
	More bool
	// Cache says that Context is what [Config].CacheBytes has memory for, and that the model's
	// own is longer.
	Cache bool
}

// Error implements error.
func (e *ContextError) Error() string {
	if e.More {
		return fmt.Sprintf("a prompt of at least %d tokens does not fit a context of %d: shorten it", e.Prompt, e.Context)
	}
	return (&sched.ContextError{Prompt: e.Prompt, Context: e.Context, Cache: e.Cache}).Error()
}

// A TemplateError says that the model's chat template does not take a conversation. Many
// want turns of the user and of the assistant by turns, and some no system message:
// Message is then the template's own. Change the conversation.
type TemplateError struct {
	Message string
}

// Error implements error.
func (e *TemplateError) Error() string {
	return "the model's chat template does not take the conversation: " + e.Message
}

// A ChangedError says that another program wrote to a file of a model while it was
// open. The model cannot be used any more: all requests end with this error, those to
// come included. Close it, and open the new file:
//
//	if _, ok := errors.AsType[*atenia.ChangedError](err); ok {
//		m.Close()
//		m, err = atenia.Open(ctx, path, cfg)
//	}
type ChangedError struct {
	File   string
	Offset int64 // of the first byte that is known to be lost; 0 if none is
	Was    int64 // size of the file when it was opened
	Now    int64 // size when the change was noticed
	// Streamed says that the weights were read as they were wanted, and not mapped.
	Streamed bool
}

// Error implements error.
func (e *ChangedError) Error() string { return (*file.ChangedError)(e).Error() }

// A publishedError is an error of an internal package that also matches one of
// this package's types. Its text is that of the internal error.
type publishedError struct{ internal, public error }

func (e *publishedError) Error() string { return e.internal.Error() }

func (e *publishedError) Unwrap() []error { return []error{e.public, e.internal} }

// publish lets err match the types of this package where an error of an
// internal package has one here.
func publish(err error) error {
	var public error
	if e, ok := errors.AsType[*engine.FieldError](err); ok {
		public = (*ConfigError)(e)
	} else if e, ok := errors.AsType[*sample.ParamError](err); ok {
		public = (*ConfigError)(e)
	} else if e, ok := errors.AsType[*sched.ContextError](err); ok {
		public = &ContextError{Prompt: e.Prompt, Context: e.Context, Cache: e.Cache}
	} else if e, ok := errors.AsType[*sched.CacheError](err); ok {
		public = &ConfigError{"CacheBytes", e.Budget, fmt.Sprintf("%d or more, a page of keys and values", e.Least)}
	} else if e, ok := errors.AsType[*text.GrammarError](err); ok {
		public = &GrammarError{Pointer: e.Pointer, Offset: e.Offset, Why: e.Why, Err: e.Err, States: e.States, Took: e.Took}
	} else if e, ok := errors.AsType[*file.ChangedError](err); ok {
		public = (*ChangedError)(e)
	} else if e, ok := errors.AsType[*chat.RaiseError](err); ok {
		public = &TemplateError{e.Message}
	} else if e, ok := errors.AsType[*chat.RuntimeError](err); ok {
		public = &TemplateError{e.Error()}
	} else {
		return err
	}
	return &publishedError{err, public}
}

// convertAll converts the elements of a slice. nil stays nil.
func convertAll[T, U any](in []T, f func(T) U) []U {
	if in == nil {
		return nil
	}
	out := make([]U, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}

// A noTokenizer is an error that matches [ErrNoTokenizer].
type noTokenizer struct{ error }

func (e noTokenizer) Unwrap() error { return e.error }

func (noTokenizer) Is(target error) bool { return target == ErrNoTokenizer }
