package nested

import (
	"encoding/json"
	"errors"
	"fmt"

	"atenia/nested/rule"
)

// ErrConfig matches every error about a [Config].
var ErrConfig = errors.New("invalid nested model")

// A Composition says how attention and memory are combined (Titans, arXiv
// 2501.00663, section 4); the package comment has the formulas.
type Composition uint8

const (
	MAG Composition = iota // memory as gate
	MAC                    // memory as context
	MAL                    // memory as layer
)

var compositionNames = [...]string{"mag", "mac", "mal"}

// String returns the name that configurations use.
func (c Composition) String() string { return enumName(c, compositionNames[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (c Composition) MarshalText() ([]byte, error) { return enumText(c, compositionNames[:]) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Composition) UnmarshalText(b []byte) (err error) {
	*c, err = enumOf[Composition]("composition", string(b), compositionNames[:])
	return err
}

// A Pool says which tokens of a chunk a learned schedule reads.
type Pool uint8

const (
	PoolMean  Pool = iota // the mean of all tokens: not causal within the chunk
	PoolFirst             // the first token: causal
)

var poolNames = [...]string{"mean", "first"}

// String returns the name that configurations use.
func (p Pool) String() string { return enumName(p, poolNames[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (p Pool) MarshalText() ([]byte, error) { return enumText(p, poolNames[:]) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Pool) UnmarshalText(b []byte) (err error) {
	*p, err = enumOf[Pool]("pool", string(b), poolNames[:])
	return err
}

// A Fold says how the gradients that a level accumulated while frozen are
// combined with those of its next active step.
type Fold uint8

const (
	FoldSum  Fold = iota // summed: gradient accumulation
	FoldMean             // divided by the number of frozen steps
)

var foldNames = [...]string{"sum", "mean"}

// String returns the name that configurations use.
func (f Fold) String() string { return enumName(f, foldNames[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (f Fold) MarshalText() ([]byte, error) { return enumText(f, foldNames[:]) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *Fold) UnmarshalText(b []byte) (err error) {
	*f, err = enumOf[Fold]("fold", string(b), foldNames[:])
	return err
}

// A Config describes a nested model. Its JSON form is the config.json of a
// model folder. Vocab and Width are required; zero elsewhere selects the plain
// model: one layer, one level, one head, no options.
type Config struct {
	Composition Composition `json:"composition"`
	Rule        rule.Name   `json:"rule"`   // empty: DeltaRule
	Memory      rule.Config `json:"memory"` // the rule's constants

	Vocab   int   `json:"vocab_size"`
	Width   int   `json:"hidden_size"`
	Heads   int   `json:"num_attention_heads,omitempty"`
	Window  int   `json:"sliding_window,omitempty"` // tokens that attention reads, including the current one; 0: 1
	Layers  int   `json:"num_hidden_layers,omitempty"`
	Periods []int `json:"periods,omitempty"` // of the levels, in chunks; nil: [1]
	Chunk   int   `json:"chunk,omitempty"`   // tokens per chunk when a stream is cut; 0: 64

	Learned bool  `json:"learned_schedule,omitempty"` // levels above 0 decide whether they are active
	Pool    Pool  `json:"pool,omitempty"`
	Anneal  int64 `json:"anneal_steps,omitempty"` // steps before the learned schedule takes effect
	Fold    Fold  `json:"fold,omitempty"`

	RopeBase   float64 `json:"rope_theta,omitempty"` // rotary positions within a chunk; 0: none
	Residual   bool    `json:"residual,omitempty"`   // a layer adds to its input
	Norm       bool    `json:"norm,omitempty"`       // rows are normalized to mean square 1: a layer's input, both branches, the output
	KeyTaps    int     `json:"key_taps,omitempty"`   // memory keys are a causal convolution over that many tokens; 0: none
	Persistent int     `json:"persistent,omitempty"` // learned rows that every query attends to
	Seed       uint64  `json:"seed,omitempty"`       // of initial parameters and states
}

// WithDefaults returns c with defaults filled in.
func (c Config) WithDefaults() Config {
	if c.Rule == "" {
		c.Rule = rule.Delta
	}
	c.Heads, c.Window, c.Layers, c.Chunk = max(c.Heads, 1), max(c.Window, 1), max(c.Layers, 1), or(c.Chunk, 64)
	if len(c.Periods) == 0 {
		c.Periods = []int{1}
	}
	return c
}

func or(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

// Bounds that keep sizes from overflowing.
const (
	maxWidth  = 1 << 16
	maxVocab  = 1 << 24
	maxLayers = 1 << 10
	maxLevels = 1 << 8
	maxChunk  = 1 << 20
)

// Check returns all faults of a configuration; they match [ErrConfig].
func (c Config) Check() error {
	var all []error
	within := func(field string, v, lo, hi int) {
		if v < lo || v > hi {
			all = append(all, &ConfigError{Field: field, Why: fmt.Sprintf("%d is not within %d and %d", v, lo, hi)})
		}
	}
	within("vocab_size", c.Vocab, 1, maxVocab)
	within("hidden_size", c.Width, 1, maxWidth)
	within("num_attention_heads", c.Heads, 1, maxWidth)
	within("sliding_window", c.Window, 1, maxChunk)
	within("num_hidden_layers", c.Layers, 1, maxLayers)
	within("periods", len(c.Periods), 1, maxLevels)
	within("chunk", c.Chunk, 1, maxChunk)
	within("key_taps", c.KeyTaps, 0, 64)
	within("persistent", c.Persistent, 0, maxChunk)
	if c.Heads > 0 && c.Width%c.Heads != 0 {
		all = append(all, &ConfigError{Field: "num_attention_heads", Why: fmt.Sprintf("%d heads do not divide a width of %d", c.Heads, c.Width)})
	} else if c.RopeBase != 0 && c.Heads > 0 && c.Width/c.Heads%2 != 0 {
		all = append(all, &ConfigError{Field: "rope_theta", Why: "rotary positions need heads of even width"})
	}
	if c.RopeBase < 0 || c.RopeBase > 1e12 || c.RopeBase != c.RopeBase {
		all = append(all, &ConfigError{Field: "rope_theta", Why: fmt.Sprintf("%v is not a base", c.RopeBase)})
	}
	if len(c.Periods) > 0 {
		if err := checkPeriods(c.Periods); err != nil {
			all = append(all, err)
		}
	}
	if c.Layers > 1 && !c.Residual {
		all = append(all, &ConfigError{Field: "residual", Why: "several layers train only with residuals"})
	}
	if m := c.Memory; c.KeyTaps > 0 && (m.ThetaMin != 0 || m.ThetaMax != 0 || m.AlphaMin != 0 || m.AlphaMax != 0) {
		all = append(all, &ConfigError{Field: "key_taps", Why: "gates cannot have bounds too"})
	}
	if _, err := rule.NewLayout(c.Rule, min(max(c.Width, 1), maxWidth), c.Memory); err != nil {
		all = append(all, fmt.Errorf("%w: %w", ErrConfig, err))
	}
	return errors.Join(all...)
}

// ModelType is the model_type of a nested model's config.json.
const ModelType = "mag"

// ParseConfig reads a configuration from JSON and fills in defaults.
func ParseConfig(b []byte) (Config, error) {
	var c Config
	if err := json.Unmarshal(b, &c); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c = c.WithDefaults()
	return c, c.Check()
}
