package compile

// audioFamilies are models with an audio encoder.
var audioFamilies = []*Family{}

// audioTerms are the names that their weight maps use.
var audioTerms = vocabulary{}

// audioTypes and audioArchs are those of them that are refused by name.
var (
	audioTypes = map[string]string{
		"whisper": needsVision,
	}
	audioArchs = map[string]string{}
)

// An Audio is the audio encoder of a model.
type Audio struct {
	Hidden int
}
