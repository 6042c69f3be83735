package compile

// encoderFamilies are models that turn a text into vectors.
var encoderFamilies = []*Family{}

// encoderTerms are the names that their weight maps use.
var encoderTerms = vocabulary{}

// encoderTypes and encoderArchs are those of them that are refused by name.
var (
	encoderTypes = map[string]string{
		"bert":        needsEncoder,
		"xlm-roberta": needsEncoder,
		"roberta":     needsEncoder,
	}
	encoderArchs = map[string]string{
		"gemma-embedding": needsEncoder,
		"bert":            needsEncoder,
	}
)

// An Encoder is a model that turns a text into one vector, or into one a token.
type Encoder struct {
	Pool      string // "none", "mean", "first", "last"
	Normalize bool
}
