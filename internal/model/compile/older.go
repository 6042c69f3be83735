package compile

// olderFamilies are networks before llama, and those with other blocks.
var olderFamilies = []*Family{}

// olderTerms are the names that their weight maps use.
var olderTerms = vocabulary{}

// olderTypes and olderArchs are those of them that are refused by name.
var (
	olderTypes = map[string]string{
		"phi":                  otherNetwork,
		"phi-msft":             otherNetwork,
		"mixformer-sequential": otherNetwork,
	}
	olderArchs = map[string]string{
		"phi2": otherNetwork,
	}
)
