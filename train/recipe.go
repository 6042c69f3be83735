package train

import (
	"atenia/grad"
	"atenia/internal/train/recipe"
)

// A Recipe says what [Run] trains, on what and how. [ReadRecipe]
// reads one from a file; one that is made in Go needs [Recipe.Complete].
// A zero field has the default that [Keys] names.
type Recipe struct {
	Model     Model     // architecture and sizes, or the folder to continue from
	Memory    Memory    // of a model whose memory learns
	LoRA      LoRA      // low-rank pairs to train in place of the parameters
	Tokenizer Tokenizer // how text becomes tokens
	Data      Data      // files, rows, batches, what is held out
	Optimizer Optimizer // the rule and its numbers
	Schedule  Schedule  // how the learning rate rises and falls
	Train     Loop      // steps, evaluations, snapshots, the folder of results
}

// Model says which parameters are trained.
type Model struct {
	Architecture string  // "llama" or "mag", made from nothing; "" = llama
	From         string  // folder of a model to continue from; then GPTQZeros is the only other field that is used
	GPTQZeros    string  // of From: the version of the zero points of a folder that GPTQ quantized, "v1" or "v2"; "" = as its files say
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

// Memory says what is nested in a model of the architecture "mag". Its
// other sizes are those of [Model].
type Memory struct {
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

// LoRA says that low-rank pairs are trained in place of the parameters,
// which stay as they are.
type LoRA struct {
	Rank    int     // of the pairs; 0 = the parameters are trained
	Alpha   float64 // the scale of a pair is Alpha / Rank; 0 = 2 × Rank
	Targets string  // "q_proj,v_proj", a regular expression for whole names, or "all-linear"; "" = all-linear
	RSLoRA  bool    // the scale is Alpha / √Rank
	Dropout float64 // share of a pair's input that is left out of each step
	Merge   bool    // also write the merged model, into the folder merged in that of the results
}

// Tokenizer says how text becomes tokens.
type Tokenizer struct {
	Kind     string   // "bytes", "chars", "bpe" (learnt from the data) or "file"; "" = bytes, or that of the model
	File     string   // a tokenizer.json, for the kind "file"
	Size     int      // tokens of "bpe", and most tokens of "chars"; 0 = 4096
	Special  []string // special tokens; the first one begins and ends every text; nil = <|end|>
	Template string   // chat template of the result: a file, or "chatml"
}

// Data says which texts are learned, and how they are cut into batches. An
// encoder learns from pairs, {"query": …, "positive": …, "negatives": […]}, and a
// classifier from {"query": …, "document": …, "label": …} or {"text": …, "label": …}.
type Data struct {
	Files   []string // texts; a .jsonl has {"text": …}, {"messages": […]} or {"audio": …, "text": …} on each line
	Row     int      // tokens of the longest row, or of the longest text for an encoder; 0 = 256
	Rows    int      // rows of a batch, which has at most Row × Rows tokens, or pairs for an encoder; 0 = 8
	Alone   bool     // short rows are left short, not packed
	Long    string   // what becomes of longer documents: "split", "cut" or "drop"; "" = split
	Heldout float64  // share of the documents held out for evaluation
	All     bool     // learn what users say in conversations, not only the answers
}

// Optimizer chooses the update rule and its constants.
type Optimizer struct {
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

// Schedule says how the learning rate changes in the course of a run.
type Schedule struct {
	Curve  grad.Curve // the zero value is the cosine
	Warmup int        // steps in which the rate grows from 0
	Decay  int        // steps in which the curve "wsd" falls
	Floor  float64    // share of the rate that it falls to
}

// Loop has the length of a run, its evaluations, snapshots and output.
type Loop struct {
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

// ReadRecipe reads the TOML file of a training run. Its keys are those of
// [Keys]; paths in it are relative to it. Errors of its contents match
// [ErrRecipe].
func ReadRecipe(path string) (*Recipe, error) {
	p, err := recipe.Read(path)
	if err != nil {
		return nil, err
	}
	return newRecipe(p), nil
}

// Keys returns the settings of a recipe's file and what each means, table
// by table.
func Keys() string { return recipe.Help() }

// Complete fills in the defaults of a recipe that was made without a file, and
// checks it. Errors match [ErrRecipe] and name every fault.
func (r *Recipe) Complete() error {
	return r.update(func(p *recipe.Recipe) error { return p.Complete() })
}

// SetSteps changes the number of steps; warm-up and schedule shrink with it.
func (r *Recipe) SetSteps(n int) {
	r.update(func(p *recipe.Recipe) error { p.SetSteps(n); return nil })
}

// SetArchitecture changes the kind of model that is made: "llama" or "mag".
func (r *Recipe) SetArchitecture(name string) error {
	return r.update(func(p *recipe.Recipe) error { return p.SetArchitecture(name) })
}

func (r *Recipe) update(f func(*recipe.Recipe) error) error {
	p := r.internal()
	err := f(p)
	*r = *newRecipe(p)
	return err
}

func newRecipe(p *recipe.Recipe) *Recipe {
	return &Recipe{
		Model(p.Model), Memory(p.Memory), LoRA(p.LoRA), Tokenizer(p.Tokenizer),
		Data(p.Data), Optimizer(p.Optimizer), Schedule(p.Schedule), Loop(p.Train),
	}
}

func (r *Recipe) internal() *recipe.Recipe {
	return &recipe.Recipe{
		Model: recipe.Model(r.Model), Memory: recipe.NestedMemory(r.Memory), LoRA: recipe.LoRA(r.LoRA),
		Tokenizer: recipe.Tokenizer(r.Tokenizer), Data: recipe.Data(r.Data), Optimizer: recipe.Optimizer(r.Optimizer),
		Schedule: recipe.Schedule(r.Schedule), Train: recipe.Train(r.Train),
	}
}
