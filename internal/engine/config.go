package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"atenia/internal/exec"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/model/compile"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/observe"
	"atenia/internal/sched"
)

// A Config configures a running model. The root package, whose Config documents
// each field, validates it and fills in defaults; it does not change
// afterwards.
type Config struct {
	Context     int // tokens of a sequence; 0 = the model's, at most usualContext
	Threads     int
	AllThreads  bool // Threads were asked for: the policy may not use fewer
	Slots       int
	BatchTokens int
	CacheBytes  int64             // bound of keys and values; 0 = none
	KeepBytes   int64             // of those, what ended requests may keep beyond the slots: [sched.Config]
	Speculate   sched.Speculation // of requests that leave it open
	Draft       string            // path of a model that drafts; "" = none
	Early       bool              // the first layers draft
	EarlyLayers int               // how many; 0 = a quarter
	Notes       []string          // what the user is told of the files, first
	CacheDir    string            // folder for keys and values that left memory; "" = none
	CacheDisk   int64             // of its files, bytes
	Compile     compile.Options

	Pack       pack.Mode
	PackDir    string
	PackVerify bool
	Tower      string // the file of an encoder of images or sounds that was named; "" = none was
	Lora       string // the folder of an adapter that is merged into the weights; "" = none
	Codec      string // of streamed weights, one of Codecs
	Merged     bool   // weights are not those of the files: an adapter was added

	Adapters []AdapterFile // that requests may name

	Budget        place.Budget
	Rules         place.Rules
	PlacementFile string
	Decisions     string
	NoStream      bool // maps a model that does not fit and has no budget
	NoMap         bool // the files were read into memory, where their weights stay

	Checkpoint string   // folder; "" = none
	GPTQZeros  string   // version of zero points that is asked for; "" = what digits and folder tell
	Sources    []string // files beside the model's that weights were made from

	Backend                 string // as in [exec.Config]
	Verify, Strict, Precise bool
	Inputs                  func(weight string, expert int, rows []float32, cols int) // as in [exec.Config]

	Observer *observe.Observer // nil = none
	Logger   *slog.Logger

	// Devices looks for the devices of the machine, once; nil = there are none.
	Devices func(context.Context) decide.Devices

	// Limit, if not nil, is asked before every step how much memory the process may
	// have, in place of the system: a test can say what it needs.
	Limit func() (bytes int64, stalled bool)

	// Delay, if not nil, tells in place of [cpu.Delay] how long the process's threads
	// waited for processors so far.
	Delay func() (d time.Duration, known bool)
}

// A FieldError names a field of a configuration whose value cannot be used.
type FieldError struct {
	Field string
	Got   any // nil if Want describes the fault
	Want  string
}

// Error implements error.
func (e *FieldError) Error() string {
	switch s := e.Got.(type) {
	case nil:
		return fmt.Sprintf("config: %s: %s", e.Field, e.Want)
	case string:
		return fmt.Sprintf("config: %s is %q, want %s", e.Field, s, e.Want)
	}
	return fmt.Sprintf("config: %s is %v, want %s", e.Field, e.Got, e.Want)
}

// usualContext bounds the context by default: long contexts cost memory that
// most uses never need.
const usualContext = 4096

// allRows is the number of rows of logits in a step if every row's are
// requested.
const allRows = 16

// trained returns how many tokens a model's positions are for; 0 = it has no positions.
func (c *Config) trained(model *compile.Config) int {
	trained := model.Context
	for _, r := range model.Ropes {
		if r.Scaling == "dynamic" { // dynamic scaling extends the context beyond that of training
			trained = max(trained, int(float64(model.Context)*float64(r.Factor)))
		}
	}
	return trained
}

// context returns how many tokens a sequence of a model may have.
func (c *Config) context(model *compile.Config) int {
	trained := c.trained(model)
	switch {
	case c.Context > 0 && model.Encoder != nil && trained > 0:
		return min(c.Context, trained) // positions beyond it do not exist
	case c.Context > 0:
		return c.Context
	case trained > 0:
		return min(trained, usualContext)
	}
	return usualContext
}

// MaxLogits returns how many rows of logits a step may hold.
func (c *Config) MaxLogits() int { return min(max(c.Slots, allRows), c.BatchTokens) }

// placed reports whether the configuration requires a placement.
func (c *Config) placed() bool {
	r := &c.Rules
	return c.Budget != (place.Budget{}) || c.PlacementFile != "" || len(r.Pins) > 0 || r.MaxTier != "" || r.RequireGPU
}

// exec is the configuration of the executor, without where weights are.
func (c *Config) exec(model *compile.Config) exec.Config {
	x := exec.Config{
		Threads: c.Threads, MaxTokens: c.BatchTokens, MaxLogits: c.MaxLogits(),
		Context: c.context(model), Precise: c.Precise, Inputs: c.Inputs, Backend: c.Backend, Counters: c.Observer.Counters(),
	}
	if model.Encoder != nil { // a text is computed in one step, and each row may be asked for
		x.MaxTokens = max(x.MaxTokens, x.Context)
		x.MaxLogits = x.MaxTokens
	}
	return x
}

type captureKey struct{}

// Capture returns a context with which the next [Open] also stores the engine
// it opens in *to. Package bench uses it to measure a model that the root
// package opened.
func Capture(ctx context.Context, to **Engine) context.Context {
	return context.WithValue(ctx, captureKey{}, to)
}

// capture stores e in the context's destination, see [Capture].
func (e *Engine) capture(ctx context.Context) {
	if to, ok := ctx.Value(captureKey{}).(**Engine); ok {
		*to = e
	}
}
