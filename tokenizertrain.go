package atenia

import (
	"context"
	"fmt"
	"io"

	"atenia/internal/corpus"
	"atenia/internal/durable"
	"atenia/internal/token/vocab"
)

// A VocabularyConfig says which vocabulary [TrainTokenizer] is to learn.
type VocabularyConfig = vocab.Config

// A VocabularyPattern names how text is split into words.
type VocabularyPattern = vocab.Pattern

// A VocabularyReport says what [TrainTokenizer] learned.
type VocabularyReport struct {
	Tokens, Merges int
	Bytes, Length  int64 // of the text, and the tokens it takes
}

// ErrVocabulary is what faults of a [VocabularyConfig] match.
var ErrVocabulary = vocab.ErrConfig

// TrainTokenizer learns a vocabulary from files and writes it as a
// tokenizer.json: lines {"text": …} or {"messages": [{"content": …}]} where a
// name ends with .jsonl, plain text otherwise. progress, if it is set, is told
// the bytes of text read so far.
func TrainTokenizer(ctx context.Context, out string, files []string, c VocabularyConfig, progress func(bytes int64)) (VocabularyReport, error) {
	read := int64(0)
	v, err := vocab.Train(c, func(yield func(string, error) bool) {
		for s, err := range corpus.Texts(ctx, files) {
			if read += int64(len(s)); progress != nil {
				progress(read)
			}
			if !yield(s, err) {
				return
			}
		}
	})
	if err != nil {
		return VocabularyReport{}, err
	}
	b, err := v.JSON()
	if err != nil {
		return VocabularyReport{}, fmt.Errorf("%s: %w", out, err)
	}
	err = durable.WriteFile(out, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	return VocabularyReport{len(v.Tokens), len(v.Merges), v.Bytes, v.Length}, err
}
