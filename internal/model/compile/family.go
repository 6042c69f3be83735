package compile

import (
	"fmt"
	"slices"

	"atenia/internal/plan"
)

// A Family describes one architecture as data. To add one, add a literal to
// families and a golden case.
type Family struct {
	ID            string
	ModelTypes    []string // model_type of a Hugging Face configuration
	Arch          string   // general.architecture of a GGUF file that stores it
	ReadsArch     bool     // GGUF files of Arch are read as this family
	Reorders      bool     // Arch stores rows of q and k interleaved (llama.cpp's NORM rope)
	StatesWindow  bool     // files of Arch have the key attention.sliding_window
	StatesPattern bool     // and may list the layers with a window
	Defaults      Defaults

	// HF and GGUF read what only this family's configurations contain. They may
	// only set fields of the Config.
	HF   func(*object, *Config)
	GGUF func(*header, *Config)

	Prologue plan.Program
	Mixers   map[string]plan.Program // by Layer.Mixer
	FFNs     map[string]plan.Program // by Layer.FFN
	Epilogue plan.Program
	Weights  WeightMap
}

// Defaults are the values of keys that a Hugging Face configuration omits when
// they equal those of its class. Zero widths and heads are derived.
type Defaults struct {
	Hidden, Layers, Heads, KVHeads, HeadDim, FFN, Vocab, Context int
	NormEps, Theta                                               float64
	Original                                                     int // context length before longrope
	Act                                                          string
	Tied                                                         bool
	QKVBias, OutBias, FFNBias                                    Presence // if no key of the configuration says so
	Mixture                                                      Mixture
	NormPlus                                                     float32 // of norm weights in Hugging Face files
	QKNorm                                                       bool
	EmbedSqrt                                                    bool // embeddings are multiplied by √hidden
}

// families lists the supported families.
var families = []*Family{
	&llama, &mistral, &ministral3, &qwen2, &qwen3, &gemma, &gemma2, &gemma3, &phi3, &granite, &smollm3,
	&mixtral, &qwen2MoE, &qwen3MoE,
}

// Reasons why a known name is not supported.
const (
	needsMoE       = "known, but this kind of mixture of experts is not supported yet"
	needsRecurrent = "known, but recurrent layers are not supported yet"
	needsMLA       = "known, but latent attention is not supported yet"
	needsVision    = "known, but image and audio input is not supported yet"
	needsEncoder   = "known, but encoders are not supported yet"
	otherNetwork   = "a different network (parallel blocks with layer norm) that is not supported"
)

var knownModelTypes = map[string]string{
	"granitemoe": needsMoE, "granitemoeshared": needsMoE, "gpt_oss": needsMoE,
	"phimoe": needsMoE, "qwen3_next": needsRecurrent, "qwen3_5_text": needsRecurrent, "qwen3_5_moe_text": needsRecurrent,
	"qwen3_5": needsVision, "qwen3_5_moe": needsVision, "granitemoehybrid": needsRecurrent, "bamba": needsRecurrent,
	"mamba": needsRecurrent, "mamba2": needsRecurrent, "falcon_mamba": needsRecurrent, "lfm2": needsRecurrent, "lfm2_moe": needsRecurrent,
	"deepseek_v2": needsMLA, "deepseek_v3": needsMLA, "kimi_k2": needsMLA, "youtu": needsMLA, "minicpm3": needsMLA,
	"bert": needsEncoder, "xlm-roberta": needsEncoder, "roberta": needsEncoder, "whisper": needsVision,
	"gemma3": needsVision, "mistral3": needsVision, "qwen2_vl": needsVision, "qwen2_5_vl": needsVision, "qwen3_vl": needsVision,
	"qwen3_vl_moe": needsVision, "lfm2_vl": needsVision, "lfm2-vl": needsVision,
	"phi": otherNetwork, "phi-msft": otherNetwork, "mixformer-sequential": otherNetwork,
}

var knownArchs = map[string]string{
	"granitemoe": needsMoE, "gpt-oss": needsMoE, "phimoe": needsMoE,
	"qwen3next": needsRecurrent, "qwen35": needsRecurrent, "qwen35moe": needsRecurrent, "granitehybrid": needsRecurrent,
	"mamba": needsRecurrent, "mamba2": needsRecurrent, "lfm2": needsRecurrent, "lfm2moe": needsRecurrent,
	"deepseek2": needsMLA, "minicpm3": needsMLA, "qwen2vl": needsVision, "qwen3vl": needsVision, "qwen3vlmoe": needsVision, "clip": needsVision,
	"gemma-embedding": needsEncoder, "bert": needsEncoder, "phi2": otherNetwork,
}

// A registry finds families by the names used in files.
type registry struct {
	types map[string]*Family // by model_type
	archs map[string]*Family // by general.architecture
}

var published = index(families)

// index builds a registry. It panics if a name has two families: the list is a
// literal, so tests catch that.
func index(fs []*Family) *registry {
	types, archs := map[string]*Family{}, map[string]*Family{}
	for _, f := range fs {
		for _, t := range f.ModelTypes {
			if types[t] != nil || knownModelTypes[t] != "" {
				panic(fmt.Sprintf("compile: model type %q has two meanings", t))
			}
			types[t] = f
		}
		if f.ReadsArch {
			if archs[f.Arch] != nil || knownArchs[f.Arch] != "" {
				panic(fmt.Sprintf("compile: architecture %q has two meanings", f.Arch))
			}
			archs[f.Arch] = f
		}
	}
	return &registry{types, archs}
}

// choose returns the family for a name, or an error with the reason why there is
// none.
func choose(key, name string, table map[string]*Family, known map[string]string) (*Family, error) {
	if f := table[name]; f != nil {
		return f, nil
	}
	e := &UnsupportedModelError{Key: key, Name: name, Why: known[name]}
	switch {
	case name == "":
		e.Why = "not stated, so the architecture is unknown"
	case e.Why == "":
		e.Why = "unknown architecture"
	}
	for n := range table {
		e.Supported = append(e.Supported, n)
	}
	slices.Sort(e.Supported)
	return nil, e
}
