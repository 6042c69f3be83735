package compile

// mixtureFamilies are mixtures of experts beyond those of qwen and mixtral.
var mixtureFamilies = []*Family{}

// mixtureTerms are the names that their weight maps use.
var mixtureTerms = vocabulary{}

// mixtureTypes and mixtureArchs are those of them that are refused by name.
var (
	mixtureTypes = map[string]string{
		"granitemoe":       needsMoE,
		"granitemoeshared": needsMoE,
		"gpt_oss":          needsMoE,
		"phimoe":           needsMoE,
	}
	mixtureArchs = map[string]string{
		"granitemoe": needsMoE,
		"gpt-oss":    needsMoE,
		"phimoe":     needsMoE,
	}
)
