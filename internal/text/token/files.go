package token

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"atenia/internal/store/durable"
)

// A VocabularyReport describes what [VocabularyFromFiles] learned.
type VocabularyReport struct {
	Tokens, Merges int
	Bytes, Length  int64 // of the text, and the number of tokens for it
}

// VocabularyFromFiles learns a vocabulary from files, in the formats of [ReadCorpus],
// and writes it as a tokenizer.json. progress, if not nil, is called with the
// bytes of text read so far.
func VocabularyFromFiles(ctx context.Context, out string, files []string, c VocabularyConfig, progress func(bytes int64)) (VocabularyReport, error) {
	read := int64(0)
	v, err := TrainVocabulary(c, func(yield func(string, error) bool) {
		for s, err := range texts(ctx, files) {
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

// TrainTextsOf yields the texts of files as a model will be trained on them: of
// conversations the role of each message, too.
func TrainTextsOf(ctx context.Context, files []string) TrainTexts {
	return textsOf(ctx, files, func(messages []byte) (out []string, err error) {
		var turns []struct{ Role, Content string }
		if err := json.Unmarshal(messages, &turns); err != nil {
			return nil, err
		}
		for _, m := range turns {
			out = append(out, m.Role+"\n"+m.Content)
		}
		return out, nil
	})
}
