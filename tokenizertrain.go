package atenia

import (
	"context"

	"atenia/internal/token/vocab"
)

// What [TrainTokenizer] takes and returns.
type (
	VocabularyConfig  = vocab.Config
	VocabularyPattern = vocab.Pattern
	VocabularyReport  = vocab.Report
)

// ErrVocabulary is what faults of a [VocabularyConfig] match.
var ErrVocabulary = vocab.ErrConfig

// TrainTokenizer learns a vocabulary from files and writes it as a
// tokenizer.json: lines {"text": …} or {"messages": [{"content": …}]} where a
// name ends with .jsonl, plain text otherwise.
func TrainTokenizer(ctx context.Context, out string, files []string, c VocabularyConfig, progress func(bytes int64)) (VocabularyReport, error) {
	return vocab.FromFiles(ctx, out, files, c, progress)
}
