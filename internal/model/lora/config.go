package lora

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// The kinds of failure, for errors.Is.
var (
	// errFormat is returned for files that are not an adapter or contradict each
	// other.
	errFormat = errors.New("malformed adapter")
	// ErrUnsupported is returned for adapters with unsupported features.
	ErrUnsupported = errors.New("unsupported adapter")
	// ErrConfig is returned if no adapter can be made for the model as configured.
	ErrConfig = errors.New("bad adapter configuration")
	// ErrBase is returned for an adapter that belongs to another model.
	ErrBase = errors.New("the adapter does not fit the model")
)

// largest is the largest permitted rank.
const largest = 1 << 14

// Targets select the modules with a pair: by the last parts of their names, or
// by a regular expression for the whole name.
type Targets struct {
	Names   []string // "q_proj", "mlp.down_proj"
	Pattern string   // used if Names is nil; AllLinear means every matrix but the head
}

// AllLinear selects all matrices but embeddings, norms and the head; of classifiers, and
// of projections behind an encoder, whose folder precedes their names, too, as
// huggingface/peft does.
const AllLinear = "all-linear"

// heads are the modules of classifiers that no pair changes: with one label they have no
// rank.
var heads = [...]string{"classifier", "pre_classifier", "score"}

// ParseTargets reads a list "q_proj,v_proj" or a regular expression.
func ParseTargets(s string) (Targets, error) {
	t := Targets{Pattern: s}
	if s != AllLinear && regexp.MustCompile(`^[\w.]+(,[\w.]+)*$`).MatchString(s) {
		t = Targets{Names: strings.Split(s, ",")}
	}
	_, err := t.matcher()
	return t, err
}

// matcher returns a function that reports whether a module is selected.
func (t Targets) matcher() (func(module string) bool, error) {
	if t.Names != nil {
		return func(module string) bool {
			return slices.ContainsFunc(t.Names, func(n string) bool { return module == n || strings.HasSuffix(module, "."+n) })
		}, nil
	}
	if t.Pattern == AllLinear {
		return func(module string) bool {
			last := module[strings.LastIndexByte(module, '.')+1:]
			if strings.Contains(module, "/") || slices.ContainsFunc(strings.Split(module, "."), func(s string) bool { return slices.Contains(heads[:], s) }) {
				return false
			}
			return !strings.Contains(last, "embed") && !strings.Contains(last, "norm") && !slices.Contains([]string{"lm_head", "wte", "wpe"}, last)
		}, nil
	}
	re, err := regexp.Compile("^(?:" + t.Pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("%w: targets: %w", ErrConfig, err)
	}
	return re.MatchString, nil
}

// MarshalJSON implements [json.Marshaler].
func (t Targets) MarshalJSON() ([]byte, error) {
	if t.Names != nil {
		return json.Marshal(t.Names)
	}
	return json.Marshal(t.Pattern)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Targets) UnmarshalJSON(b []byte) error {
	*t = Targets{}
	if json.Unmarshal(b, &t.Pattern) == nil {
		return nil
	}
	t.Pattern = ""
	return json.Unmarshal(b, &t.Names)
}

// Config is the content of adapter_config.json. Zero fields have the default
// given here.
type Config struct {
	Rank    int     // 8
	Alpha   float64 // 2·Rank
	Dropout float64 // share of a pair's input dropped in training
	Targets Targets // AllLinear
	RSLoRA  bool    // the scale is alpha/√r (Kalajdzievski, arXiv 2312.03732)
	Base    string  // name or path of the model it was trained for
	Turned  bool    // fan_in_fan_out: the model's file has a row for each input of a matrix, as GPT-2's
	// Task is the kind of model, for huggingface/peft; "" = one that generates text.
	Task string
	// Alphas overrides Alpha for modules that match a regular expression.
	Alphas map[string]float64
}

// Defaulted fills in defaults and returns all faults, which match [ErrConfig].
func (c Config) Defaulted() (Config, error) {
	if c.Rank == 0 {
		c.Rank = 8
	}
	if c.Alpha == 0 {
		c.Alpha = 2 * float64(c.Rank)
	}
	if c.Targets.Names == nil && c.Targets.Pattern == "" {
		c.Targets.Pattern = AllLinear
	}
	var faults []error
	if c.Rank < 1 || c.Rank > largest {
		faults = append(faults, fmt.Errorf("%w: rank %d, want 1 to %d", ErrConfig, c.Rank, largest))
	}
	if !(c.Alpha > 0 && c.Alpha < 1e9) {
		faults = append(faults, fmt.Errorf("%w: alpha %v, want more than 0", ErrConfig, c.Alpha))
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		faults = append(faults, fmt.Errorf("%w: dropout %v, want 0 to below 1", ErrConfig, c.Dropout))
	}
	_, err := c.Targets.matcher()
	return c, errors.Join(append(faults, err)...)
}

// scale returns the factor of B·A for a module.
func (c *Config) scale(module string, rank int) (float64, error) {
	alpha := c.Alpha
	patterns := make([]string, 0, len(c.Alphas))
	for p := range c.Alphas {
		patterns = append(patterns, p)
	}
	slices.Sort(patterns)
	for _, p := range patterns {
		re, err := regexp.Compile(`^(.*\.)?(` + p + `)$`)
		if err != nil {
			return 0, fmt.Errorf("%w: alpha_pattern: %w", ErrUnsupported, err)
		}
		if re.MatchString(module) {
			alpha = c.Alphas[p]
			break
		}
	}
	if c.RSLoRA {
		return alpha / math.Sqrt(float64(rank)), nil
	}
	return alpha / float64(rank), nil
}

// adapterConfig is adapter_config.json: the fields used, and those that must not be set.
type adapterConfig struct {
	Kind     string             `json:"peft_type"`
	Task     string             `json:"task_type"`
	Base     string             `json:"base_model_name_or_path"`
	Rank     int                `json:"r"`
	Alpha    float64            `json:"lora_alpha"`
	Dropout  float64            `json:"lora_dropout"`
	Targets  Targets            `json:"target_modules"`
	RSLoRA   bool               `json:"use_rslora"`
	Bias     string             `json:"bias"`
	Inverted bool               `json:"fan_in_fan_out"`
	Ready    bool               `json:"inference_mode"`
	Alphas   map[string]float64 `json:"alpha_pattern"`
	Ranks    map[string]int     `json:"rank_pattern"`

	DoRA      bool            `json:"use_dora,omitempty"`
	QALoRA    bool            `json:"use_qalora,omitempty"`
	LoRABias  bool            `json:"lora_bias,omitempty"`
	Modules   []string        `json:"modules_to_save,omitempty"`
	Tokens    json.RawMessage `json:"trainable_token_indices,omitempty"`
	Invocable json.RawMessage `json:"alora_invocation_tokens,omitempty"`
	Replaced  json.RawMessage `json:"layer_replication,omitempty"`
}

// encode returns adapter_config.json.
func (c *Config) encode() ([]byte, error) {
	alphas := c.Alphas
	if alphas == nil {
		alphas = map[string]float64{}
	}
	b, err := json.MarshalIndent(adapterConfig{
		Kind: "LORA", Task: cmp.Or(c.Task, "CAUSAL_LM"), Base: c.Base, Rank: c.Rank, Alpha: c.Alpha, Dropout: c.Dropout, Targets: c.Targets,
		RSLoRA: c.RSLoRA, Bias: "none", Inverted: c.Turned, Ready: true, Alphas: alphas, Ranks: map[string]int{},
	}, "", "  ")
	return append(b, '\n'), err
}

// parseConfig reads adapter_config.json.
func parseConfig(b []byte) (Config, error) {
	f := adapterConfig{Kind: "LORA", Rank: 8, Alpha: 8, Bias: "none"} // the reference's defaults
	if err := json.Unmarshal(b, &f); err != nil {
		return Config{}, fmt.Errorf("%w: %w", errFormat, err)
	}
	given := func(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
	var faults []error
	for what, is := range map[string]bool{
		"peft_type " + f.Kind: f.Kind != "LORA", "bias " + f.Bias: f.Bias != "none" && f.Bias != "", "use_dora": f.DoRA,
		"use_qalora": f.QALoRA, "lora_bias": f.LoRABias, "modules_to_save": len(f.Modules) > 0, "trainable_token_indices": given(f.Tokens),
		"alora_invocation_tokens": given(f.Invocable), "layer_replication": given(f.Replaced),
	} {
		if is {
			faults = append(faults, fmt.Errorf("%w: %s", ErrUnsupported, what))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if f.Rank < 1 || f.Rank > largest || !(f.Alpha > 0 && f.Alpha < 1e9) {
		faults = append(faults, fmt.Errorf("%w: rank %d and alpha %v", errFormat, f.Rank, f.Alpha))
	}
	c := Config{Task: f.Task, Rank: f.Rank, Alpha: f.Alpha, Dropout: f.Dropout, Targets: f.Targets, RSLoRA: f.RSLoRA, Base: f.Base, Turned: f.Inverted, Alphas: f.Alphas}
	return c, errors.Join(faults...)
}
