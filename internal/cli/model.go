package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"atenia"
	"atenia/internal/cli/placing"
	"atenia/internal/embedded"

	"github.com/spf13/pflag"
)

// modelFlags are the flags of every command that opens a model.
type modelFlags struct {
	cfg   atenia.Config
	stats bool // print what was planned and what became of it
}

func (m *modelFlags) register(f *pflag.FlagSet) {
	f.IntVarP(&m.cfg.Threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	f.IntVarP(&m.cfg.Context, "ctx", "c", 0, "longest sequence in tokens (0 = the model's, at most 4096)")
	f.StringVar(&m.cfg.CacheType, "kv-type", "", "element type of cached keys and values: f32, f16, q8_0")
	f.IntVar(&m.cfg.BatchTokens, "batch-tokens", 0, "tokens computed in one step (0 = 512)")
	f.StringVar(&m.cfg.Pack, "pack", "", "where weights live in the order in which kernels stream them: auto, off, memory, disk")
	f.BoolVar(&m.cfg.PackVerify, "pack-verify", false, "check all bytes of weights that are packed on disk")
	f.Var((*budgetFlag)(&m.cfg.Budget), "budget", "memory for the whole process, such as ram=2GiB; what does not fit is streamed from the disk")
	f.Var(placing.Probe(&m.cfg.Placement), "probe", "with a budget that the model does not fit: model (its file is read for a moment to predict what a pass takes) or none")
	f.StringVar(&m.cfg.PlanFile, "plan", "", "follow a plan file that \"atenia plan --out\" wrote")
	f.StringVar(&m.cfg.Decisions, "decisions", "", "append to this file why each tensor is where it is, for \"atenia replay\"")
	f.BoolVar(&m.stats, "stats", false, "with a budget or a plan: print what was planned and what was measured to standard error")
	f.BoolVar(&m.cfg.Verify, "verify", false, "compare streamed weights with what was read of them first")
	f.BoolVar(&m.cfg.Precise, "precise", false, "keep activations in float32 (slower)")
	f.BoolVar(&m.cfg.NoFuse, "no-fuse", false, "run the plan without fused instructions")
	f.StringVar(&m.cfg.Adapter, "lora", "", "merge the weights with the LoRA adapter in this folder as they are loaded")
	f.StringVar(&m.cfg.ConfigFile, "config-file", "", "name of the configuration in a Hugging Face folder")
}

// registerRunning adds the flags of commands that run the model.
func (m *modelFlags) registerRunning(f *pflag.FlagSet) {
	m.register(f)
	o := &m.cfg.Observe
	f.StringVar(&o.Trace, "trace", "", "write what ran when to `FILE`, which ui.perfetto.dev shows")
	f.StringVar(&o.Timeline, "timeline", "", "write the order of reads and computing to `FILE`, the same for equal runs")
	f.StringVar(&o.Metrics, "metrics", "", "serve metrics for Prometheus at `ADDRESS`, such as :9464, while the model runs")
	f.StringVar(&o.Learning, "learning", "", "add to `FILE` how long tokens took under which pressure, for \"atenia explain\"")
	f.BoolVar(&m.cfg.Strict, "strict", false, "fail where a budget is not kept, or packed weights or direct reads cannot be had")
}

// open opens a model. What was asked for and could not be had, without being an
// error, it says on errw.
func (m *modelFlags) open(ctx context.Context, errw io.Writer, path string) (*atenia.Model, error) {
	m.cfg.PackDir = cacheFolder()
	m.cfg.Observe.Listening = func(a net.Addr) { fmt.Fprintf(errw, "atenia: metrics at http://%s/metrics\n", a) }
	model, err := atenia.Open(ctx, path, &m.cfg)
	if err != nil {
		return nil, err
	}
	if p := model.Packing(); p.Asked != p.Mode && p.Fault != nil {
		fmt.Fprintf(errw, "atenia: --pack %s: %s\natenia: going on with --pack %s\n", p.Asked, shorten(p.Fault.Error()), p.Mode)
	}
	return model, nil
}

// finish prints what was planned beside what was measured, if that was asked
// for, and closes the model. An error of closing becomes that of the command.
func (m *modelFlags) finish(errw io.Writer, model *atenia.Model, err *error) {
	if s := model.Streaming(); m.stats && s.Plan != nil {
		_ = s.Compare().WriteText(errw) // standard error has nobody to tell
	}
	if e := model.Close(); *err == nil {
		*err = e
	}
}

// A budgetFlag is a budget as a flag.
type budgetFlag atenia.Budget

// String implements [pflag.Value].
func (b *budgetFlag) String() string { return atenia.Budget(*b).String() }

// Set implements [pflag.Value].
func (b *budgetFlag) Set(s string) error {
	v, err := atenia.ParseBudget(s)
	*b = budgetFlag(v)
	return err
}

// Type implements [pflag.Value].
func (b *budgetFlag) Type() string { return "TIER=SIZE,…" }

// modelAndText splits "[MODEL] [TEXT]" and reports whether there is a text. A
// single argument is a model if it looks like one: it ends in .gguf, is a
// folder, or is the embedded model's name. Of two, the first is the model whatever it looks like.
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
	if s == embedded.Name || strings.HasSuffix(strings.ToLower(s), ".gguf") {
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
