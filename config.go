package atenia

import (
	"errors"
	"fmt"
	"log/slog"

	"atenia/internal/cpu"
	"atenia/internal/pack"
	"atenia/internal/quant"
	"atenia/tensor"
)

// A Config chooses how a model is opened. The zero value, or a nil pointer,
// works: it uses every physical core the process may use.
type Config struct {
	// Context is the largest number of tokens of a sequence, prompt and answer
	// together. 0 = what the model was made for, at most 4096.
	Context int
	// Threads is the number of workers. 0 = physical cores, bounded by
	// affinity and by the quota of a control group.
	Threads int
	// Slots is how many sequences may be in flight at once. 0 = 4. More
	// requests wait.
	Slots int
	// BatchTokens is how many tokens one step may hold; long prompts are cut
	// into such chunks. 0 = 512.
	BatchTokens int
	// CacheType is the element type of cached keys and values: "f32", "f16"
	// or "q8_0". "" = f16 where weights are quantised, f32 otherwise.
	CacheType string
	// CacheBytes bounds the memory of cached keys and values. 0 = no bound.
	CacheBytes int64
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
	// Budget bounds the memory of the process. A model that does not fit is
	// streamed from the disk in part; results are the same bytes. One sequence
	// of the context's length has room then, unless CacheBytes says otherwise.
	Budget Budget
	// PlanFile is a file that says where each tensor lives, as [WritePlacement]
	// makes it. "" = tensors are placed by the budget.
	PlanFile string
	// Placement has what a plan of tensors is made by beside the budget.
	Placement PlacementRules
	// Decisions is a file to which every decision of a placement is appended, for
	// [Replay]. "" = none.
	Decisions string
	// Verify compares weights that are streamed with what was read of them
	// first, by checksums.
	Verify bool
	// Observe says what is written down while the model runs.
	Observe Observation
	// Strict makes errors of what otherwise goes on in a lesser way: streamed
	// weights that the system's cache takes memory for, packed weights on disk
	// that cannot be used, and memory of the process beyond the budget. The last
	// is found by [Model.Close].
	Strict bool
	// Precise keeps activations in float32 where products of quantised
	// weights round them to 8 bits by default. Slower.
	Precise bool
	// NoFuse runs the plan as written, without fused instructions.
	NoFuse bool
	// ConfigFile is the name of the configuration in a Hugging Face folder.
	// "" = config.json.
	ConfigFile string
	// Adapter is the folder of a LoRA adapter (adapter_config.json and
	// adapter_model.safetensors) that the weights are merged with as the model is
	// opened. "" = none. Merged weights are in a temporary file until it is closed.
	Adapter string
	// Logger receives what happens at load. nil = nothing.
	Logger *slog.Logger
}

// withDefaults returns a copy with defaults filled in, or every fault in one
// error.
func (c *Config) withDefaults() (Config, error) {
	var d Config
	if c != nil {
		d = *c
	}
	if d.Threads == 0 {
		d.Threads = cpu.Threads()
	}
	if d.Slots == 0 {
		d.Slots = 4
	}
	if d.BatchTokens == 0 {
		d.BatchTokens = 512
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
		{"BatchTokens", d.BatchTokens, d.Slots, 1 << 16},
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
	errs = append(errs, d.checkPlacement()...)
	if d.CacheBytes < 0 {
		errs = append(errs, &ConfigError{"CacheBytes", d.CacheBytes, "0 or more"})
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

// A ConfigError names a field of a configuration whose value cannot be used.
// Several faults come joined in one error.
type ConfigError struct {
	Field string
	Got   any // nil where Want says what is wrong
	Want  string
}

func (e *ConfigError) Error() string {
	switch s := e.Got.(type) {
	case nil:
		return fmt.Sprintf("config: %s: %s", e.Field, e.Want)
	case string:
		return fmt.Sprintf("config: %s is %q, want %s", e.Field, s, e.Want)
	}
	return fmt.Sprintf("config: %s is %v, want %s", e.Field, e.Got, e.Want)
}

// A Mix names the element types that [Quantize] gives a model's tensors, for
// example "q4_k_m".
type Mix = quant.Mix
