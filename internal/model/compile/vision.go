package compile

// visionFamilies are models with images.
var visionFamilies = []*Family{}

// visionTerms are the names that their weight maps use.
var visionTerms = vocabulary{}

// visionTypes and visionArchs are those of them that are refused by name.
var (
	visionTypes = map[string]string{
		"qwen3_5":      needsVision,
		"qwen3_5_moe":  needsVision,
		"gemma3":       needsVision,
		"mistral3":     needsVision,
		"qwen2_vl":     needsVision,
		"qwen2_5_vl":   needsVision,
		"qwen3_vl":     needsVision,
		"qwen3_vl_moe": needsVision,
		"lfm2_vl":      needsVision,
		"lfm2-vl":      needsVision,
	}
	visionArchs = map[string]string{
		"qwen2vl":    needsVision,
		"qwen3vl":    needsVision,
		"qwen3vlmoe": needsVision,
		"clip":       needsVision,
	}
)

// A Vision is the image tower of a model.
type Vision struct {
	Hidden int
}
