package recipe

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"atenia/grad"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/internal/toml"
	"atenia/place"
)

// ErrRecipe is returned for a file that is not TOML, has an unknown key, or an
// invalid value.
var ErrRecipe = errors.New("bad training configuration")

// ChatML is the name of the built-in chat template.
const ChatML = "chatml"

// mostNamed bounds the unknown keys that an error names.
const mostNamed = 10

// A Recipe configures a training run. Zero fields have the default named in
// their help.
type Recipe struct {
	Model     Model        `toml:"model"`
	Memory    NestedMemory `toml:"memory"`
	LoRA      LoRA         `toml:"lora"`
	Tokenizer Tokenizer    `toml:"tokenizer"`
	Data      Data         `toml:"data"`
	Optimizer Optimizer    `toml:"optimizer"`
	Schedule  Schedule     `toml:"schedule"`
	Train     Train        `toml:"train"`
}

// Model selects the model to train.
type Model struct {
	Architecture string  `toml:"architecture" help:"llama or mag, initialized at random (llama)"`
	From         string  `toml:"from" help:"a model's folder to start from; of [model] only gptq_zeros is used then"`
	GPTQZeros    string  `toml:"gptq_zeros" help:"with from, of a GPTQ folder: version of its zero points, v1 or v2 (what digits and folder tell)"`
	Hidden       int     `toml:"hidden" help:"hidden size (256)"`
	Layers       int     `toml:"layers" help:"number of layers (4)"`
	Heads        int     `toml:"heads" help:"attention heads (hidden / 64, at least 1)"`
	KVHeads      int     `toml:"kv_heads" help:"heads of keys and values, a divisor of heads (heads)"`
	FFN          int     `toml:"ffn" help:"feed-forward size (8/3 of hidden, rounded up to 32)"`
	Context      int     `toml:"context" help:"longest sequence (the longest row of [data])"`
	Untied       bool    `toml:"untied" help:"give the output head a matrix of its own instead of that of the embedding (false)"`
	RopeTheta    float64 `toml:"rope_theta" help:"base of the rotary embedding (10000)"`
	NormEps      float64 `toml:"norm_eps" help:"epsilon of the RMS norms (1e-5)"`
	Deviation    float64 `toml:"deviation" help:"standard deviation of initial parameters; divided by √(2·layers) for those that write to the residual stream (0.02)"`
}

// NestedMemory configures the memory of a model of the architecture mag; its other
// sizes are those of [Model]: hidden, layers, heads, rope_theta.
type NestedMemory struct {
	Composition string `toml:"composition" help:"mag, mac or mal (mag)"`
	Rule        string `toml:"rule" help:"update rule of the memory: DeltaRule, TitansLMM, HebbianRule, Moneta, YAAD, MEMORA, LatticeOSR, Trellis or AtlasOmega (TitansLMM)"`
	Periods     []int  `toml:"periods" help:"chunks between writes, for each level ([1, 4])"`
	Chunk       int    `toml:"chunk" help:"tokens per chunk (32)"`
	Window      int    `toml:"window" help:"attention window in tokens (32)"`
	KeyTaps     int    `toml:"key_taps" help:"tokens that keys are convolved over (0: none)"`
	Plain       bool   `toml:"plain" help:"leave out residual sums and norms (false)"`
}

// Tokenizer configures tokenization.
type Tokenizer struct {
	Kind     string   `toml:"kind" help:"bytes, chars, bpe (trained on the data), or file (bytes; with model.from, the model's own)"`
	File     string   `toml:"file" help:"a tokenizer.json, for kind = \"file\""`
	Size     int      `toml:"size" help:"vocabulary size of bpe, and the maximum of chars (4096)"`
	Special  []string `toml:"special" help:"special tokens; the first one ends every text ([\"<|end|>\"])"`
	Template string   `toml:"template" help:"chat template of the result: a file, or chatml, which needs <|im_start|> and <|im_end|> in special"`
}

// Data configures the training data.
type Data struct {
	Files   []string `toml:"files" help:"text files; .jsonl files have {\"text\": …}, {\"messages\": […]} or {\"audio\": …, \"text\": …} on each line, for encoders {\"query\": …, \"positive\": …} or {\"query\": …, \"document\": …, \"label\": …}"`
	Row     int      `toml:"row" help:"maximum tokens per row, or per text of encoders (256)"`
	Rows    int      `toml:"rows" help:"rows per batch, of at most row × rows tokens; for encoders, pairs per batch (8)"`
	Alone   bool     `toml:"alone" help:"leave short rows short instead of packing documents into them (false)"`
	Long    string   `toml:"long" help:"what to do with documents longer than a row: split, cut or drop (split)"`
	Heldout float64  `toml:"heldout" help:"fraction held out for evaluation (0)"`
	All     bool     `toml:"all" help:"also learn the questions of conversations (false)"`
}

// Optimizer configures the update of parameters.
type Optimizer struct {
	Kind       string   `toml:"kind" help:"adamw, muon (for matrices, adamw for the rest), lion or sgd (adamw)"`
	Rate       float64  `toml:"rate" help:"learning rate (0.001)"`
	Beta1      float64  `toml:"beta1" help:"beta1 of adamw and lion (0.9)"`
	Beta2      float64  `toml:"beta2" help:"beta2 of adamw and lion (0.95; lion 0.99)"`
	Epsilon    float64  `toml:"epsilon" help:"epsilon of adamw (1e-8)"`
	Decay      float64  `toml:"decay" help:"weight decay, not applied to norms and biases (0)"`
	Momentum   *float64 `toml:"momentum" help:"momentum of muon and sgd (0.95; sgd 0.9)"`
	Iterations int      `toml:"iterations" help:"Newton-Schulz iterations of muon (5)"`
	Clip       *float64 `toml:"clip" help:"maximum norm of all gradients; 0 for no limit (1)"`
	Offload    bool     `toml:"offload" help:"keep the state of adamw in files, for runs larger than memory; implies precision = \"bf16\" (false)"`
}

// Schedule configures the learning rate.
type Schedule struct {
	Curve  grad.Curve `toml:"curve" help:"cosine, linear, constant, or wsd: stable, then linear decay (cosine)"`
	Warmup int        `toml:"warmup" help:"steps of linear warm-up (0)"`
	Decay  int        `toml:"decay" help:"decay steps of wsd"`
	Floor  float64    `toml:"floor" help:"final learning rate as a fraction of rate (0.1; wsd 0)"`
}

// Train configures the length of the run and its results.
type Train struct {
	Steps       int     `toml:"steps" help:"number of steps"`
	Accumulate  int     `toml:"accumulate" help:"batches accumulated per step (1)"`
	Seed        uint64  `toml:"seed" help:"seed of the initial parameters and of the order of the data (0)"`
	Precision   string  `toml:"precision" help:"float32, or bf16: compute with rounded parameters and update float32 originals (float32)"`
	Recompute   bool    `toml:"recompute" help:"recompute layers in the backward pass: less memory, a third more time (false)"`
	Balance     float64 `toml:"balance" help:"weight of the auxiliary loss that balances the load of experts; left out of evaluations (0)"`
	Temperature float64 `toml:"temperature" help:"divisor of cosines in the loss of encoders that make vectors (0.05)"`
	EvalEvery   int     `toml:"eval_every" help:"steps between evaluations (steps / 20)"`
	EvalMost    int     `toml:"eval_batches" help:"maximum held-out batches per evaluation (16)"`
	Patience    int     `toml:"patience" help:"evaluations without improvement after which the run ends with the best result (0: never)"`
	MinGain     float64 `toml:"min_gain" help:"decrease of the held-out loss that counts as an improvement (0)"`
	SaveEvery   int     `toml:"save_every" help:"steps between snapshots (steps / 20)"`
	Keep        int     `toml:"keep" help:"number of snapshots to keep (2)"`
	BadSteps    int     `toml:"bad_steps" help:"consecutive steps without a finite loss that end the run (10)"`
	Threads     int     `toml:"threads" help:"worker threads; the result does not depend on them (all processors)"`
	Out         string  `toml:"out" help:"output folder (out)"`
	Budget      string  `toml:"budget" help:"memory for the whole process, such as 1GiB: what does not fit is kept in files, and the result is the same (what other programs leave)"`
}

// Read reads a file and resolves its paths. Errors of its contents match
// [ErrRecipe].
func Read(path string) (*Recipe, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, toml.Most+1))
	if err != nil {
		return nil, err
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	dir := filepath.Dir(path)
	for _, p := range []*string{&r.Model.From, &r.Tokenizer.File, &r.Tokenizer.Template, &r.Train.Out} {
		if *p != "" && *p != ChatML && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	for i, p := range r.Data.Files {
		if !filepath.IsAbs(p) {
			r.Data.Files[i] = filepath.Join(dir, p)
		}
	}
	return r, nil
}

// Parse reads a configuration and fills in defaults. Errors match [ErrRecipe]
// and name every fault.
func Parse(b []byte) (*Recipe, error) {
	r := &Recipe{}
	defined, others, err := toml.DecodeDefined(b, r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecipe, err)
	}
	errs := unknown(others)
	if !defined("schedule", "floor") && r.Schedule.Curve != grad.WSD {
		r.Schedule.Floor = 0.1
	}
	r.defaults()
	if err := faults(append(errs, r.check()...)); err != nil {
		return nil, err
	}
	return r, nil
}

// Complete fills in the defaults of a recipe that was not read from a file, and
// validates it. Errors match [ErrRecipe] and name every fault.
func (r *Recipe) Complete() error {
	r.defaults()
	return faults(r.check())
}

func faults(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRecipe, errors.Join(errs...))
}

// unknown returns an error with a suggestion for each unknown key. Keys in an
// unknown table are not listed separately.
func unknown(keys [][]string) (errs []error) {
	known := names()
	tables := map[string]bool{}
	for _, k := range keys {
		inside := false
		for n := 1; n < len(k) && !inside; n++ {
			inside = tables[strings.Join(k[:n], ".")]
		}
		if inside {
			continue
		}
		name := strings.Join(k, ".")
		if tables[name] = true; len(tables) > mostNamed {
			return append(errs, errors.New("and more unknown keys"))
		}
		errs = append(errs, fmt.Errorf("unknown key %s; the nearest is %s", spelling.Clip(name, 80), nearest(name, known)))
	}
	return errs
}

func set[T comparable](x *T, usual T) {
	var zero T
	if *x == zero {
		*x = usual
	}
}

// defaults fills in defaults.
func (r *Recipe) defaults() {
	m, d, o, t := &r.Model, &r.Data, &r.Optimizer, &r.Train
	set(&m.Architecture, "llama")
	set(&m.Hidden, 256)
	set(&m.Layers, 4)
	set(&m.Heads, max(1, m.Hidden/64))
	set(&m.KVHeads, m.Heads)
	set(&m.FFN, (m.Hidden*8/3+31)/32*32)
	set(&d.Row, 256)
	set(&d.Rows, 8)
	set(&d.Long, "split")
	set(&m.Context, d.Row)
	set(&m.RopeTheta, 10000)
	set(&m.NormEps, 1e-5)
	set(&m.Deviation, 0.02)
	y := &r.Memory
	set(&y.Composition, "mag")
	set(&y.Rule, "TitansLMM")
	set(&y.Chunk, 32)
	set(&y.Window, 32)
	if y.Periods == nil {
		y.Periods = []int{1, 4}
	}
	kind := "bytes"
	if m.From != "" {
		kind = "model"
	}
	set(&r.Tokenizer.Kind, kind)
	set(&r.Tokenizer.Size, 4096)
	if r.Tokenizer.Special == nil {
		r.Tokenizer.Special = []string{"<|end|>"}
	}
	set(&o.Kind, "adamw")
	set(&o.Rate, 1e-3)
	if o.Clip == nil {
		o.Clip = new(1.0)
	}
	set(&t.Accumulate, 1)
	set(&t.Precision, "float32")
	set(&t.Out, "out")
	set(&t.EvalMost, 16)
	set(&t.Keep, 2)
}

// SetSteps replaces the number of steps, to try a recipe out; the schedule is
// shortened to fit.
func (r *Recipe) SetSteps(n int) {
	r.Train.Steps = n
	r.Schedule.Warmup = min(r.Schedule.Warmup, n/2)
	r.Schedule.Decay = min(r.Schedule.Decay, n-r.Schedule.Warmup)
}

// Budget returns the budget in bytes; 0 is none.
func (r *Recipe) Budget() int64 {
	n, _ := place.ParseSize(r.Train.Budget) // was checked
	return n
}

// SetArchitecture replaces the model's architecture.
func (r *Recipe) SetArchitecture(name string) error {
	r.Model.Architecture = name
	return faults(r.check())
}

// Every returns the number of steps between evaluations, and between snapshots.
func (t *Train) Every() (eval, save int) {
	usual := max(1, t.Steps/20)
	eval, save = t.EvalEvery, t.SaveEvery
	set(&eval, usual)
	set(&save, usual)
	return eval, save
}

// check returns all faults.
func (r *Recipe) check() (errs []error) {
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	one := func(key, value string, of ...string) {
		need(slices.Contains(of, value), "%s is %q, want one of %s", key, value, strings.Join(of, ", "))
	}
	size := func(key string, n, least, most int) {
		need(n >= least && n <= most, "%s is %d, want %d to %d", key, n, least, most)
	}
	share := func(key string, x float64) {
		need(x >= 0 && x < 1, "%s is %v, want at least 0 and less than 1", key, x)
	}
	positive := func(key string, x float64) { need(x > 0 && x <= 1e9, "%s is %v, want more than 0", key, x) }

	m, d, o, t := &r.Model, &r.Data, &r.Optimizer, &r.Train
	one("model.architecture", m.Architecture, "llama", "mag")
	size("model.hidden", m.Hidden, 2, 1<<16)
	size("model.layers", m.Layers, 1, 1<<10)
	size("model.heads", m.Heads, 1, 1<<10)
	size("model.kv_heads", m.KVHeads, 1, 1<<10)
	size("model.ffn", m.FFN, 1, 1<<18)
	size("model.context", m.Context, 1, 1<<24)
	if m.Heads > 0 && m.KVHeads > 0 {
		need(m.Hidden%(2*m.Heads) == 0, "model.hidden is %d, want a multiple of 2 × heads, %d", m.Hidden, 2*m.Heads)
		need(m.Heads%m.KVHeads == 0, "model.kv_heads is %d, want a divisor of heads, %d", m.KVHeads, m.Heads)
	}
	positive("model.rope_theta", m.RopeTheta)
	positive("model.norm_eps", m.NormEps)
	positive("model.deviation", m.Deviation)
	need(m.GPTQZeros == "" || m.From != "", "model.gptq_zeros is about the folder of model.from, which is not given")
	need(m.GPTQZeros == "" || m.GPTQZeros == "v1" || m.GPTQZeros == "v2", "model.gptq_zeros is %q, want v1 or v2", m.GPTQZeros)
	one("tokenizer.kind", r.Tokenizer.Kind, "bytes", "chars", "bpe", "file", "model")
	need(r.Tokenizer.Kind != "model" || m.From != "", "tokenizer.kind is model, but there is no model.from")
	need((r.Tokenizer.Kind == "file") == (r.Tokenizer.File != ""), "tokenizer.kind = \"file\" and tokenizer.file belong together")
	size("tokenizer.size", r.Tokenizer.Size, 2, 1<<24)
	size("memory.chunk", r.Memory.Chunk, 1, 1<<20)
	size("memory.window", r.Memory.Window, 1, 1<<20)
	size("memory.key_taps", r.Memory.KeyTaps, 0, 1<<10)
	need(m.Architecture != "mag" || m.From == "" && !o.Offload, "the architecture mag supports neither model.from nor optimizer.offload")
	need(len(d.Files) > 0, "data.files names no file")
	one("data.long", d.Long, "split", "cut", "drop")
	size("data.row", d.Row, 1, 1<<24)
	size("data.rows", d.Rows, 1, 1<<24)
	share("data.heldout", d.Heldout)
	one("optimizer.kind", o.Kind, "adamw", "muon", "lion", "sgd")
	positive("optimizer.rate", o.Rate)
	need(*o.Clip >= 0, "optimizer.clip is %v, want 0 or more", *o.Clip)
	need(!o.Offload || o.Kind == "adamw", "optimizer.offload is for adamw alone")
	one("train.precision", t.Precision, "float32", "bf16")
	need(t.Balance >= 0 && t.Balance <= 1e6, "train.balance is %v, want 0 or more", t.Balance)
	need(t.Temperature >= 0 && t.Temperature <= 1e3, "train.temperature is %v, want 0.01 to 1, or 0 for the usual one", t.Temperature)
	need(t.Steps > 0 && t.Steps <= 1<<40, "train.steps is %d, want how many steps the run has", t.Steps)
	for _, n := range []struct {
		key   string
		value int
	}{
		{"train.accumulate", t.Accumulate}, {"train.eval_every", t.EvalEvery}, {"train.eval_batches", t.EvalMost}, {"train.patience", t.Patience},
		{"train.save_every", t.SaveEvery}, {"train.keep", t.Keep}, {"train.bad_steps", t.BadSteps}, {"train.threads", t.Threads}, {"optimizer.iterations", o.Iterations},
		{"schedule.warmup", r.Schedule.Warmup}, {"schedule.decay", r.Schedule.Decay},
	} {
		size(n.key, n.value, 0, 1<<40)
	}
	if t.Budget != "" {
		n, err := place.ParseSize(t.Budget)
		need(err == nil && n > 0, "train.budget is %q, want a size such as 2GiB", t.Budget)
	}
	need(t.Patience == 0 || d.Heldout > 0, "train.patience needs data.heldout")
	share("schedule.floor", r.Schedule.Floor)
	if err := r.checkLoRA(); err != nil {
		errs = append(errs, err)
	}
	return errs
}
