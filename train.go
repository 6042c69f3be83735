package atenia

import (
	"context"

	"atenia/grad"
	"atenia/internal/sample"
	"atenia/internal/train"

	"atenia/internal/train/fit"
	reading "atenia/internal/train/mag"
	"atenia/internal/train/recipe"
)

// A TrainRecipe says what [Train] trains, on what and how. [ReadTrainRecipe]
// reads one from a file; one that is made in Go needs [TrainRecipe.Complete].
// A zero field has the default that [TrainKeys] names.
type TrainRecipe struct {
	Model     TrainModel     // architecture and sizes, or the folder to continue from
	Memory    TrainMemory    // of a model whose memory learns
	LoRA      TrainLoRA      // low-rank pairs to train in place of the parameters
	Tokenizer TrainTokenizer // how text becomes tokens
	Data      TrainData      // files, rows, batches, what is held out
	Optimizer TrainOptimizer // the rule and its numbers
	Schedule  TrainSchedule  // how the learning rate rises and falls
	Train     TrainRun       // steps, evaluations, snapshots, the folder of results
}

// TrainModel says which parameters are trained.
type TrainModel struct {
	Architecture string  // "llama" or "mag", made from nothing; "" = llama
	From         string  // folder of a model to continue from; then GPTQZeros is the only other field that is used
	GPTQZeros    string  // as in [Config], of From
	Hidden       int     // width; 0 = 256
	Layers       int     // blocks; 0 = 4
	Heads        int     // of attention; 0 = Hidden / 64, at least 1
	KVHeads      int     // heads of keys and values, a divisor of Heads; 0 = Heads
	FFN          int     // width of the feed-forward part; 0 = 8/3 of Hidden, rounded up to 32
	Context      int     // longest sequence; 0 = the longest row of the data
	Untied       bool    // the head has a matrix of its own, not the embedding's
	RopeTheta    float64 // base of the rotary embedding; 0 = 10000
	NormEps      float64 // of the root mean square norms; 0 = 1e-5
	// Deviation is the standard deviation of the first parameters; those that
	// write to the residual stream have it divided by √(2·Layers). 0 = 0.02.
	Deviation float64
}

// TrainMemory says what is nested in a model of the architecture "mag". Its
// other sizes are those of [TrainModel].
type TrainMemory struct {
	Composition string // "mag", "mac" or "mal"; "" = mag
	// Rule is how memory learns: DeltaRule, TitansLMM, HebbianRule, Moneta, YAAD,
	// MEMORA, LatticeOSR, Trellis or AtlasOmega. "" = TitansLMM.
	Rule    string
	Periods []int // chunks between two writes of each level; nil = 1, 4
	Chunk   int   // tokens of a chunk; 0 = 32
	Window  int   // tokens that attention sees; 0 = 32
	KeyTaps int   // tokens that a key is a convolution over; 0 = none
	Plain   bool  // layers have neither residual sums nor norms
}

// TrainLoRA says that low-rank pairs are trained in place of the parameters,
// which stay as they are.
type TrainLoRA struct {
	Rank    int     // of the pairs; 0 = the parameters are trained
	Alpha   float64 // the scale of a pair is Alpha / Rank; 0 = 2 × Rank
	Targets string  // "q_proj,v_proj", a regular expression for whole names, or "all-linear"; "" = all-linear
	RSLoRA  bool    // the scale is Alpha / √Rank
	Dropout float64 // share of a pair's input that is left out of each step
	Merge   bool    // also write the merged model, into the folder merged in that of the results
}

// TrainTokenizer says how text becomes tokens.
type TrainTokenizer struct {
	Kind     string   // "bytes", "chars", "bpe" (learnt from the data) or "file"; "" = bytes, or that of the model
	File     string   // a tokenizer.json, for the kind "file"
	Size     int      // tokens of "bpe", and most tokens of "chars"; 0 = 4096
	Special  []string // special tokens; the first one begins and ends every text; nil = <|end|>
	Template string   // chat template of the result: a file, or "chatml"
}

// TrainData says which texts are learned, and how they are cut into batches. An
// encoder learns from pairs, {"query": …, "positive": …, "negatives": […]}, and a
// classifier from {"query": …, "document": …, "label": …} or {"text": …, "label": …}.
type TrainData struct {
	Files   []string // texts; a .jsonl has {"text": …}, {"messages": […]} or {"audio": …, "text": …} on each line
	Row     int      // tokens of the longest row, or of the longest text for an encoder; 0 = 256
	Rows    int      // rows of a batch, which has at most Row × Rows tokens, or pairs for an encoder; 0 = 8
	Alone   bool     // short rows are left short, not packed
	Long    string   // what becomes of longer documents: "split", "cut" or "drop"; "" = split
	Heldout float64  // share of the documents held out for evaluation
	All     bool     // learn what users say in conversations, not only the answers
}

// TrainOptimizer chooses the update rule and its constants.
type TrainOptimizer struct {
	Kind       string   // "adamw", "muon" (for matrices, adamw for the rest), "lion" or "sgd"; "" = adamw
	Rate       float64  // learning rate; 0 = 0.001
	Beta1      float64  // of adamw and lion; 0 = 0.9
	Beta2      float64  // of adamw and lion; 0 = 0.95, lion 0.99
	Epsilon    float64  // of adamw; 0 = 1e-8
	Decay      float64  // of weights; norms and biases have none
	Momentum   *float64 // of muon and sgd; nil = 0.95, sgd 0.9
	Iterations int      // Newton-Schulz iterations of muon; 0 = 5
	Clip       *float64 // limit of the norm of all gradients, 0 for none; nil = 1
	Offload    bool     // keep adamw's state in files, for runs larger than memory; implies bf16
}

// TrainSchedule says how the learning rate changes in the course of a run.
type TrainSchedule struct {
	Curve  grad.Curve // the zero value is the cosine
	Warmup int        // steps in which the rate grows from 0
	Decay  int        // steps in which the curve "wsd" falls
	Floor  float64    // share of the rate that it falls to
}

// TrainRun has the length of a run, its evaluations, snapshots and output.
type TrainRun struct {
	Steps      int     // of the whole run
	Accumulate int     // batches of one step; 0 = 1
	Seed       uint64  // of the first parameters and the order of the data
	Precision  string  // "float32", or "bf16": computed with rounded parameters, float32 originals are stepped
	Recompute  bool    // compute layers twice rather than keep them: less memory, a third more time
	Balance    float64 // weight of the auxiliary loss that has a mixture of experts use all of them alike
	// Temperature divides the cosines in the loss of an encoder that makes vectors:
	// the lower it is, the more only the nearest wrong documents count. 0 = 0.05.
	Temperature float64
	EvalEvery   int     // steps between evaluations; 0 = a twentieth of Steps
	EvalMost    int     // most held-out batches of an evaluation; 0 = 16
	Patience    int     // evaluations without a gain that end the run; 0 = never
	MinGain     float64 // of the held-out loss, to count as a gain
	SaveEvery   int     // steps between snapshots; 0 = a twentieth of Steps
	Keep        int     // snapshots that are kept; 0 = 2
	BadSteps    int     // steps in a row without a finite loss that end the run; 0 = 10
	Threads     int     // the result does not depend on it; 0 = all processors
	Out         string  // folder of the results; "" = out
	// Budget is the memory of the whole process, such as "1GiB". Parameters,
	// gradients and the optimizer's state that do not fit are kept in files; the
	// result is the same. "" = what other programs leave.
	Budget string
}

// ReadTrainRecipe reads the TOML file of a training run. Its keys are those of
// [TrainKeys]; paths in it are relative to it. Errors of its contents match
// [ErrTrainRecipe].
func ReadTrainRecipe(path string) (*TrainRecipe, error) {
	p, err := recipe.Read(path)
	if err != nil {
		return nil, err
	}
	return newTrainRecipe(p), nil
}

// TrainKeys returns the settings of a recipe's file and what each means, table
// by table.
func TrainKeys() string { return recipe.Help() }

// Complete fills in the defaults of a recipe that was made without a file, and
// checks it. Errors match [ErrTrainRecipe] and name every fault.
func (r *TrainRecipe) Complete() error {
	return r.update(func(p *recipe.Recipe) error { return p.Complete() })
}

// SetSteps changes the number of steps; warm-up and schedule shrink with it.
func (r *TrainRecipe) SetSteps(n int) {
	r.update(func(p *recipe.Recipe) error { p.SetSteps(n); return nil })
}

// SetArchitecture changes the kind of model that is made: "llama" or "mag".
func (r *TrainRecipe) SetArchitecture(name string) error {
	return r.update(func(p *recipe.Recipe) error { return p.SetArchitecture(name) })
}

func (r *TrainRecipe) update(f func(*recipe.Recipe) error) error {
	p := r.internal()
	err := f(p)
	*r = *newTrainRecipe(p)
	return err
}

func newTrainRecipe(p *recipe.Recipe) *TrainRecipe {
	return &TrainRecipe{
		TrainModel(p.Model), TrainMemory(p.Memory), TrainLoRA(p.LoRA), TrainTokenizer(p.Tokenizer),
		TrainData(p.Data), TrainOptimizer(p.Optimizer), TrainSchedule(p.Schedule), TrainRun(p.Train),
	}
}

func (r *TrainRecipe) internal() *recipe.Recipe {
	return &recipe.Recipe{
		Model: recipe.Model(r.Model), Memory: recipe.NestedMemory(r.Memory), LoRA: recipe.LoRA(r.LoRA),
		Tokenizer: recipe.Tokenizer(r.Tokenizer), Data: recipe.Data(r.Data), Optimizer: recipe.Optimizer(r.Optimizer),
		Schedule: recipe.Schedule(r.Schedule), Train: recipe.Train(r.Train),
	}
}

// TrainOptions are settings of [Train] that, but for Checkpoint, do not affect
// its result.
type TrainOptions struct {
	Resume    bool // continue from the newest snapshot in the folder, if there is one
	Overwrite bool // discard the run that the folder holds
	// Checkpoint is the folder of a checkpoint that has a tensor for every trained
	// parameter, by its name: the run starts from them in place of what the recipe
	// says. A snapshot that is resumed counts more. "" = none.
	Checkpoint string
	// Decisions is a file to which the placement of each backward pass is appended,
	// for [Replay], and Timeline one for the order in which they ran, in lines that
	// are the same for equal runs. They are written if the run does not fit into
	// its memory.
	Decisions, Timeline string
	// Started, if set, is called before the first step.
	Started func(TrainSubject)
	// Watch, if set, is called after every step, from the goroutine that trains.
	Watch func(TrainEvent)
}

// A TrainSubject describes the model and data of a run, before its first step.
type TrainSubject struct {
	Architecture string `json:"architecture"`
	Parameters   int    `json:"parameters"` // values
	Trained      int    `json:"trained"`    // of these
	Vocabulary   int    `json:"vocabulary"` // tokens
	Documents    int    `json:"documents"`
	Tokens       int64  `json:"tokens"` // of the data
	Heldout      int    `json:"heldout"`
	Threads      int    `json:"threads"`
	Out          string `json:"out"`
	// Memory says what of the run is in memory and what is in files, if not all of
	// it fits or [TrainRun].Budget was set.
	Memory string `json:"memory,omitempty"`
	// Goals says what an encoder learns: "vectors" of texts that belong together,
	// "scores" of pairs, or "labels". "" is the next token.
	Goals string `json:"goals,omitempty"`
	// Warning is what to know of the folder that is trained on: see [Config].GPTQZeros.
	Warning string `json:"warning,omitempty"`
}

// A TrainEvent reports a step of a run to [TrainOptions].Watch.
type TrainEvent struct {
	Step, Steps int
	Loss        float64 // mean over the step's counted positions
	Norm        float64 // of the gradients, before clipping
	Rate        float64
	Tokens      int64   // of the run so far
	Seconds     float64 // that the step took
	Skipped     bool    // loss or gradients were no numbers; nothing was stepped
	// Moved are the bytes of files that the step read and wrote, and Waited the
	// seconds in which it computed neither the loss nor gradients, of a run whose
	// state does not fit into memory.
	Moved  int64
	Waited float64
	// Eval is the loss on held-out data, after the step; nil between
	// evaluations.
	Eval *float64
	// Accuracy is the share of held-out queries whose answer is the nearest document
	// of their batch (recall at 1), or of scores and labels that are right, of an
	// encoder; nil between evaluations.
	Accuracy *float64
	Best     bool   // Eval is the lowest so far
	Note     string // a warning; the other fields are then zero
}

// A TrainMetric is one line of a run's log, metrics.jsonl.
type TrainMetric struct {
	Step    int      `json:"step"` // counted from 1
	Loss    float64  `json:"loss,omitzero"`
	Rate    float64  `json:"lr,omitzero"`
	Norm    float64  `json:"norm,omitzero"`
	Tokens  int64    `json:"tokens,omitzero"` // of the run so far
	Seconds float64  `json:"seconds,omitzero"`
	Skipped bool     `json:"skipped,omitempty"` // loss and norm were no numbers, and are 0 here
	Eval    *float64 `json:"eval,omitempty"`
	// Accuracy is that of [TrainEvent].
	Accuracy *float64 `json:"accuracy,omitempty"`
}

// A TrainReport says what a run did.
type TrainReport struct {
	Steps   int           // done, those of earlier lives included
	Tokens  int64         // seen
	Loss    float64       // of the last step
	Skipped int           // steps whose loss or gradients were no numbers
	Best    *float64      // lowest loss on held-out data; nil without evaluations
	Early   bool          // it ended because held-out data got no better
	Written uint64        // bytes of state in files since the run began, in all processes: what the disk wears from
	Out     string        // the folder
	Base    string        // folder of the model that the result is an adapter for; "" if it is a model
	Merged  string        // folder of the merged model; "" if there is none
	Metrics []TrainMetric // the lines of the folder's log
}

// Train trains a model by a recipe and writes a folder that [Open] opens. Use
// [ReadTrainRecipe] for a recipe from a file, and [TrainOptions].Watch to follow
// the loss.
//
// The same recipe gives the same bytes, whatever the number of threads, and
// however often the run was stopped, or killed, and resumed. When ctx ends, Train
// takes a snapshot and returns [ErrTrainStopped] with a report of what was done; a
// call with Resume continues there. An output folder that holds another run is
// [ErrTrainTaken], unless Overwrite is set.
func Train(ctx context.Context, r *TrainRecipe, o TrainOptions) (*TrainReport, error) {
	p := fit.Options{Resume: o.Resume, Overwrite: o.Overwrite, Decisions: o.Decisions, Timeline: o.Timeline}
	if o.Started != nil {
		p.Started = func(s fit.Subject) { o.Started(TrainSubject(s)) }
	}
	if o.Checkpoint != "" {
		p.Begin = func(params []*train.Param) error { return fillFrom(ctx, o.Checkpoint, params) }
	}
	if o.Watch != nil {
		p.Watch = func(e train.Event) { o.Watch(TrainEvent(e)) }
	}
	rep, err := guarded(func() (*fit.Report, error) { return fit.Run(ctx, r.internal(), p) })
	if rep == nil {
		return nil, err
	}
	return &TrainReport{
		Steps: rep.Steps, Tokens: rep.Tokens, Loss: rep.Loss, Skipped: rep.Skipped, Best: rep.Best, Early: rep.Early, Written: rep.Written,
		Out: rep.Out, Base: rep.Base, Merged: rep.Merged,
		Metrics: convertAll(rep.Metrics, func(m train.Metric) TrainMetric { return TrainMetric(m) }),
	}, err
}

// DrawLoss draws the losses of a log as a curve in braille, columns by rows
// characters, for a terminal.
func DrawLoss(ms []TrainMetric, columns, rows int) string {
	lines := fit.Lines(convertAll(ms, func(m TrainMetric) train.Metric { return train.Metric(m) }))
	return train.PlotText(lines, columns, rows)
}

// IsNested reports whether a folder holds a model whose memory learns while it
// reads, which [Read] runs.
func IsNested(dir string) bool { return reading.IsFolder(dir) }

// A Reading is the configuration of [Read].
type Reading struct {
	Prompt string
	Memory string // file of what was learnt: continued from if it is there, and written; "" = none
	// Adjust changes the sampling that the model's makers recommend. nil leaves
	// it.
	Adjust  func(*Sampling) error
	Tokens  int // most tokens that are written
	Threads int // 0 = all processors
}

// Read lets a nested model read a prompt and continue it. Its memory learns
// from both while it runs. write is called with each piece of text.
func Read(ctx context.Context, dir string, r Reading, write func(string) error) error {
	t := reading.Task{Prompt: r.Prompt, Memory: r.Memory, Tokens: r.Tokens, Threads: r.Threads}
	if r.Adjust != nil {
		t.Adjust = func(p *sample.Params) error {
			s := newSampling(*p)
			err := r.Adjust(&s)
			*p = s.internal()
			return err
		}
	}
	return publish(reading.Read(ctx, dir, t, write))
}
