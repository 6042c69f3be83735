package compile

import (
	"fmt"
	"maps"
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
	Neighbours    bool     // so do its Hugging Face folders
	Tiles         bool     // Arch stores heads of values of a delta rule tiled
	StatesWindow  bool     // files of Arch have the key attention.sliding_window
	StatesPattern bool     // and may list the layers with a window
	StatesAct     bool     // files of Arch name the function of feed-forward layers
	ScalesLogits  bool     // the key logit_scale of files of Arch multiplies; elsewhere it divides
	RMSEpsilon    bool     // files of Arch state the epsilon of layer norms as that of RMS norms
	LatentHeads   bool     // files of Arch state the widths of heads of latent attention, not of its cache
	KVByLayer     bool     // files of Arch have the number of key heads of each layer, 0 = it does not attend
	Defaults      Defaults

	// Variant returns the family that a Hugging Face configuration of one of
	// ModelTypes describes in fact; nil = this one.
	Variant func(*object, *Family) *Family

	// HF and GGUF read what only this family's configurations contain. They may
	// only set fields of the Config.
	HF   func(*object, *Config)
	GGUF func(*header, *Config)

	Prologue plan.Program
	Mixers   map[string]plan.Program // by Layer.Mixer
	FFNs     map[string]plan.Program // by Layer.FFN
	Epilogue plan.Program
	Sound    *Sound // nil = no audio encoder
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
	QKKind                                                       string
	NormKind                                                     string
	Ungated                                                      bool
	EmbedSqrt                                                    bool // embeddings are multiplied by √hidden
}

// families lists the supported families, group by group.
var families = slices.Concat(
	[]*Family{
		&llama, &mistral, &ministral3, &qwen2, &qwen3, &gemma, &gemma2, &gemma3, &phi3, &granite, &smollm3,
		&mixtral, &qwen2MoE, &qwen3MoE,
	},
	mixtureFamilies, latentFamilies, scanFamilies, deltaFamilies, visionFamilies, encoderFamilies, audioFamilies, olderFamilies,
)

// Reasons why a known name is not supported.
const (
	needsMoE       = "known, but this kind of mixture of experts is not supported yet"
	needsRecurrent = "known, but recurrent layers are not supported yet"
	needsVision    = "known, but image and audio input is not supported yet"
	needsEncoder   = "known, but encoders are not supported yet"
	otherNetwork   = "a different network (parallel blocks with layer norm) that is not supported"
)

// knownModelTypes and knownArchs name what is refused by name, with the reason.
// Each group of families takes its own out as it is supported.
var (
	knownModelTypes = union(mixtureTypes, latentTypes, scanTypes, deltaTypes, visionTypes, encoderTypes, audioTypes, olderTypes)
	knownArchs      = union(mixtureArchs, latentArchs, scanArchs, deltaArchs, visionArchs, encoderArchs, audioArchs, olderArchs)
)

func union(ms ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range ms {
		maps.Copy(all, m)
	}
	return all
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
