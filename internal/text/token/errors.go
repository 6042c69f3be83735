package token

import "fmt"

// A FormatError says where a tokenizer file is malformed. Path is the JSON path
// ("model.merges[3]") or the GGUF key; Offset is the byte position of a JSON
// syntax error, else 0.
type FormatError struct {
	Path      string
	Offset    int64
	Want, Got string
}

func (e *FormatError) Error() string {
	at := e.Path
	if e.Offset > 0 {
		at = fmt.Sprintf("%s at byte %d", at, e.Offset)
	}
	return fmt.Sprintf("tokenizer: %s: want %s, got %s", at, e.Want, e.Got)
}

// An UnknownError names a part of a tokenizer that this package does not
// support. Such a tokenizer is rejected: without the part, or with a similar
// one, it would yield other tokens than the model was trained on.
type UnknownError struct {
	Path string // JSON path or GGUF key
	Kind string // "pre-tokenizer", "normalizer", …
	Name string // as spelled in the file
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("tokenizer: %s: unknown %s %q", e.Path, e.Kind, e.Name)
}

// An InexpressibleError names a part of a tokenizer that GGUF metadata cannot
// express.
type InexpressibleError struct {
	Part string // JSON path of the part
	Why  string
}

func (e *InexpressibleError) Error() string {
	return fmt.Sprintf("tokenizer: GGUF cannot express %s: %s", e.Part, e.Why)
}
