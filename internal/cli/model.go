package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"atenia"
	"atenia/internal/spelling"
	"atenia/place"

	"github.com/spf13/pflag"
)

// modelFlags are the flags of every command that opens a model.
type modelFlags struct {
	cfg    atenia.Config
	stats  bool // print the placement and its measured cost
	told   int  // notes about memory that were printed
	learns bool // the command learns, and keeps an account of the run, unless told not to
}

func (m *modelFlags) register(f *pflag.FlagSet) {
	f.IntVarP(&m.cfg.Threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	f.IntVarP(&m.cfg.Context, "ctx", "c", 0, "context length in tokens, prompt and answer together (0 = the model's, at most 4096)")
	f.StringVar(&m.cfg.CacheType, "kv-type", "", "element type of the KV cache: f32, f16 or q8_0 (default: f16 if weights are quantized, else f32)")
	f.IntVar(&m.cfg.BatchTokens, "batch-tokens", 0, "maximum number of tokens per step (0 = 512)")
	f.StringVar(&m.cfg.Speculate, "speculate", "", "verify drafted tokens, several a step: auto (where it pays), lookup, draft or off (default: auto)")
	f.StringVar(&m.cfg.Draft, "draft", "", "draft tokens where that pays: with a smaller model in `FILE` of the same tokens, or early (first layers); same text")
	f.StringVar(&m.cfg.Pack, "pack", "", "where to keep weights repacked for the kernels: auto, off, memory or disk (default: auto)")
	f.BoolVar(&m.cfg.PackVerify, "pack-verify", false, "verify the checksums of weights packed on disk")
	f.StringVar(&m.cfg.Codec, "codec", "", "form of streamed float weights: auto, off, planehuff or planezstd (default: auto)")
	f.Var((*budgetFlag)(&m.cfg.Budget), "budget", "memory limit of the process, such as ram=2GiB; weights that do not fit are streamed from disk")
	f.BoolVar(&m.cfg.NoStream, "no-stream", false, "map a model that does not fit, instead of streaming it from the start: once memory runs short it is streamed")
	f.BoolVar(&m.cfg.NoMmap, "no-mmap", false, "read the model's files into memory instead of mapping them, so that other programs cannot change them under it")
	f.Var(probeFlag(&m.cfg.Placement), "probe", "with --budget: measure the model's file to predict the time of a pass (model), or do not (none)")
	f.StringArrayVar(&m.cfg.Placement.Pins, "pin", nil, pinText)
	offloading(f, &m.cfg.Placement)
	f.StringVar(&m.cfg.PlacementFile, "plan", "", "follow the placement in `FILE`, written by \"atenia plan --out\"")
	f.StringVar(&m.cfg.Decisions, "decisions", "", "append the reason for every placement decision to `FILE`, for \"atenia replay\"")
	f.BoolVar(&m.stats, "stats", false, "print where the memory is, what was read, and predicted and measured costs, to standard error")
	f.BoolVar(&m.cfg.Verify, "verify", false, "compare streamed weights with the checksums of their first read")
	f.BoolVar(&m.cfg.Precise, "precise", false, "keep activations in float32 (slower)")
	f.BoolVar(&m.cfg.NoFuse, "no-fuse", false, "run without fused instructions")
	f.StringVar(&m.cfg.Adapter, "lora", "", "merge the LoRA adapter in the folder `DIR` into the weights")
	f.StringVar(&m.cfg.Tower, "mmproj", "", "read the image tower of a GGUF model from `FILE` (default: the file named mmproj- and the model's name, if there is one)")
	gptqZeros(f, &m.cfg.GPTQZeros)
	f.StringVar(&m.cfg.ConfigFile, "config-file", "", "name of the configuration `FILE` in a Hugging Face folder (default config.json)")
}

// pinText is the usage of --pin where nothing computes on a device.
const pinText = "hold weights with such names in a tier: `REGEXP=TIER`, where TIER is ram or ssd (may be repeated)"

// gptqZeros adds the flag that says how zero points are read.
func gptqZeros(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "gptq-zeros", "", "`VERSION` of the zero points of a GPTQ folder: v1 (stored less one) or v2 (default: what digits and folder tell)")
}

// backendHelp is the help of --backend.
const backendHelp = "`BACKENDS` in order of preference: cpu, or graph, which records a step of at most 512 tokens and\ncomputes it at its end, with the same results"

// registerRunning adds the flags of commands that run the model.
func (m *modelFlags) registerRunning(f *pflag.FlagSet) {
	m.register(f)
	o := &m.cfg.Observe
	f.StringVar(&o.Trace, "trace", "", "write a trace for ui.perfetto.dev to `FILE`")
	f.StringVar(&o.Timeline, "timeline", "", "write the order of reads and computation to `FILE`; equal runs give equal files")
	f.StringVar(&o.Metrics, "metrics", "", "serve Prometheus metrics at `ADDRESS`, such as :9464, while the model runs")
	f.StringVar(&o.Learning, "learning", "", "learn from latencies in `FILE` and follow what was learned; off = neither"+m.learningDefault())
	f.BoolVar(&m.cfg.Strict, "strict", false, "fail if the budget is exceeded, or if packed weights or direct reads are not available")
}

// noLearning is the value of --learning that turns it off.
const noLearning = "off"

// learningDefault says where a command learns by default.
func (m *modelFlags) learningDefault() string {
	if m.learns {
		return " (default " + defaultName + " in the state folder)"
	}
	return " (default off)"
}

// prepareLearning completes what is observed and reports whether the file of
// what is learned is the default, which may be unusable without an error.
func (m *modelFlags) prepareLearning() (byDefault bool) {
	o := &m.cfg.Observe
	dir := stateFolder()
	if m.learns && dir != "" && writable(dir) {
		o.Account = dir
		if byDefault = o.Learning == ""; byDefault {
			o.Learning = filepath.Join(dir, defaultName)
		}
	}
	if o.Learning == noLearning {
		o.Learning = ""
	}
	return byDefault
}

// writable makes a folder and reports whether files can be made there: a run
// with a home that is read-only is no error.
func writable(dir string) bool {
	if os.MkdirAll(dir, 0o777) != nil {
		return false
	}
	f, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

const checkpointHelp = "With --checkpoint, the folder remembers where weights were wanted and the last conversations: a prompt that\n" +
	"begins like one of them is continued without computing that part again, with the same results.\n\n"

// registerKeeping adds the flags of commands that talk with the model.
func (m *modelFlags) registerKeeping(f *pflag.FlagSet) {
	m.registerRunning(f)
	f.StringVar(&m.cfg.Checkpoint, "checkpoint", "", "continue from the checkpoint in the folder `DIR` and save it at the end: where weights are, and conversations")
}

// prepared returns the configuration for models that are opened elsewhere. What was
// learned is neither read nor kept unless a flag says so: several models may run.
func (m *modelFlags) prepared(errw io.Writer) atenia.Config {
	m.cfg.PackDir = cacheFolder()
	m.cfg.Placement.ProfileDir = cacheFolder()
	m.cfg.Observe.Listening = func(a net.Addr) { fmt.Fprintf(errw, "atenia: metrics at http://%s/metrics\n", a) }
	m.prepareLearning()
	if dir := stateFolder(); dir != "" && writable(dir) {
		m.cfg.Observe.Account = dir
	}
	return m.cfg
}

// open opens a model. It prints fallbacks, which are not errors, to errw.
func (m *modelFlags) open(ctx context.Context, errw io.Writer, path string) (*atenia.Model, error) {
	m.cfg.PackDir = cacheFolder()
	m.cfg.Placement.ProfileDir = cacheFolder()
	m.cfg.Observe.Listening = func(a net.Addr) { fmt.Fprintf(errw, "atenia: metrics at http://%s/metrics\n", a) }
	byDefault := m.prepareLearning()
	model, err := atenia.Open(ctx, path, &m.cfg)
	if bad, ok := errors.AsType[*atenia.ConfigError](err); ok && byDefault && bad.Field == "Observe.Learning" {
		fmt.Fprintf(errw, "atenia: warning: %v; continuing without\n", bad)
		m.cfg.Observe.Learning = ""
		model, err = atenia.Open(ctx, path, &m.cfg)
	}
	if err != nil {
		return nil, err
	}
	if r, ok := model.Checkpoint(); ok {
		fmt.Fprintf(errw, "atenia: %s\n", r)
	}
	if p := model.Packing(); p.Asked != p.Mode && p.Fault != nil {
		fmt.Fprintf(errw, "atenia: --pack %s: %s\natenia: continuing with --pack %s\n", p.Asked, shorten(p.Fault.Error()), p.Mode)
	}
	s := model.Streaming()
	m.told = len(s.Notes)
	for _, line := range s.Notes {
		if s.Automatic && m.cfg.Budget.RAM == 0 && len(m.cfg.Placement.Pins) == 0 && strings.Contains(line, "streamed from disk") {
			line += "; --no-stream maps it until memory runs short"
		}
		fmt.Fprintf(errw, "atenia: %s\n", line)
	}
	return model, nil
}

// finish prints predictions beside measurements, if requested, and closes the model. An error of
// closing becomes that of the command. Nobody asked for notes and warnings, which --quiet drops.
func (m *modelFlags) finish(a *app, model *atenia.Model, err *error) {
	errw, warn := a.err, a.env().Err
	if m.stats {
		_ = model.Map().WriteText(errw)
	}
	s := model.Streaming()
	for _, line := range s.Notes[min(m.told, len(s.Notes)):] { // since it was opened
		fmt.Fprintf(warn, "atenia: %s\n", line)
	}
	if m.stats && model.Placement() != nil {
		_ = s.WriteText(errw) // errors of standard error cannot be reported
		c := model.ComparePlacement()
		_ = c.WriteText(errw)
		for _, d := range c.Off() {
			fmt.Fprintf(errw, "atenia: %s is worse than planned, by %+.0f %%\n", d.What, 100*d.Off)
		}
		if s.Codec != "" {
			fmt.Fprintf(errw, "codec %s\n", s.Codec)
		}
		for _, l := range s.Lanes {
			fmt.Fprintf(errw, "lane %-9s %s, %s\n", l.Lane, spelling.Count(l.Tasks, "task"), spelling.Size(l.Bytes))
		}
	}
	e := unkept(warn, model.Close(), stateFolder())
	if r, ok := model.Checkpoint(); ok {
		for _, why := range r.NotDurable {
			fmt.Fprintf(warn, "atenia: checkpoint %s: not durable: %s\n", r.Dir, why)
		}
	}
	if *err == nil {
		*err = e
	}
}

// joined is the type of errors that are a list of faults.
var joined = reflect.TypeOf(errors.Join(io.EOF))

// unkept returns an error without those parts that are about files in the folder where a
// run keeps what nobody asked for, its account and what it learned, of which it warns: a
// home without room takes nothing from a result, as one that is read-only does not.
func unkept(errw io.Writer, err error, dir string) error {
	for e := err; e != nil && dir != ""; e = errors.Unwrap(e) {
		if reflect.TypeOf(e) != joined {
			continue // others that have several are of one fault
		}
		var rest []error
		for _, e := range e.(interface{ Unwrap() []error }).Unwrap() {
			rest = append(rest, unkept(errw, e, dir))
		}
		return errors.Join(rest...)
	}
	p, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if rel, e := filepath.Rel(dir, p.Path); dir == "" || e != nil || !filepath.IsLocal(rel) {
		return err
	}
	fmt.Fprintf(errw, "atenia: warning: not kept: %v\n", err)
	return nil
}

// A budgetFlag is a budget as a flag.
type budgetFlag place.Budget

// String implements [pflag.Value].
func (b *budgetFlag) String() string { return place.Budget(*b).String() }

// Set implements [pflag.Value].
func (b *budgetFlag) Set(s string) error {
	v, err := atenia.ParseBudget(s)
	*b = budgetFlag(v)
	return err
}

// Type implements [pflag.Value].
func (b *budgetFlag) Type() string { return "TIER=SIZE,..." }

// modelAndText splits "MODEL TEXT", both optional, and reports whether there is a text. A single
// argument is a model if it ends in .gguf, is a folder, or is the embedded model's name. Of two,
// the first is always the model.
func modelAndText(args []string) (model, text string, given bool) {
	switch len(args) {
	case 2:
		return args[0], args[1], true
	case 1:
		if looksLikeModel(args[0]) {
			return args[0], "", false
		}
		return "", args[0], true
	}
	return "", "", false
}

func looksLikeModel(s string) bool {
	if s == place.Embedded || strings.HasSuffix(strings.ToLower(s), ".gguf") {
		return true
	}
	fi, err := os.Stat(s)
	return err == nil && fi.IsDir()
}

// optionalModel returns the model path of a command with at most one argument.
func optionalModel(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
