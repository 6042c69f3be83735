package atenia

import (
	"context"
	"fmt"
	"path/filepath"

	"atenia/internal/engine"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/text/token"
)

// Tokenize returns the ids of a text, with the special tokens that the model
// expects around a prompt. Special tokens written in the text are recognized.
func (m *Model) Tokenize(s string) ([]int32, error) {
	if m.text.Tokenizer == nil {
		return nil, m.textErr
	}
	return m.text.Tokenizer.Encode(s, true), nil
}

// tokenize is [Model.Tokenize] for a request, which may be canceled, and for the text of a
// conversation; see says what said is.
func (m *Model) tokenize(ctx context.Context, s string, said []int, special bool) ([]int32, error) {
	if m.text.Tokenizer == nil {
		return nil, m.textErr
	}
	if err := m.tooLong(len(s)); err != nil {
		return nil, err
	}
	if len(s) > anyText {
		least, err := m.text.Tokenizer.Exceeds(ctx, m.Context(), s)
		if err != nil {
			return nil, err
		}
		if least > 0 {
			return nil, fmt.Errorf("a text of %d bytes: %w", len(s), m.atLeast(least))
		}
	}
	return m.text.Tokenizer.EncodeContext(ctx, s, said, special)
}

// tooLong refuses so many bytes of text that cannot fit.
func (m *Model) tooLong(bytes int) error {
	if m.text.Tokenizer == nil || bytes <= anyText {
		return nil
	}
	if least := m.text.Tokenizer.Least(bytes); least > spare*m.Context() {
		return fmt.Errorf("a text of %d bytes: %w", bytes, m.atLeast(least))
	}
	return nil
}

// atLeast is the error for a prompt of so many tokens or more.
func (m *Model) atLeast(tokens int) error {
	return &ContextError{Prompt: tokens, Context: m.Context(), More: true, Cache: m.Context() < m.plan.compiled.Context()}
}

// A text is not tokenized if it is longer than anyText and than so many times what the
// context holds: to know how many tokens it has would take memory and time for nothing.
// A normalizer may drop most of a shorter one, such as white space.
const (
	anyText = 64 << 10
	spare   = 4
)

// Detokenize returns the text of ids, special tokens included.
func (m *Model) Detokenize(ids []int32) (string, error) {
	if m.text.Tokenizer == nil {
		return "", m.textErr
	}
	return m.text.Tokenizer.Decode(ids, false), nil
}

// Tokenizer returns the model's tokenizer, or why there is none.
func (m *Model) Tokenizer() (*Tokenizer, error) {
	if m.text.Tokenizer == nil {
		return nil, m.textErr
	}
	return &Tokenizer{m.text.Tokenizer}, nil
}

// Sampling returns what the model's makers recommend, or the usual:
// temperature 0.8, top-k 40, top-p 0.95.
func (m *Model) Sampling() Sampling { return newSampling(m.text.Sampling) }

// A Tokenizer turns text into ids and back, without a model.
type Tokenizer struct{ t *token.Tokenizer }

// OpenTokenizer opens the tokenizer of a model, or a bare vocabulary: a
// tokenizer.json, a SentencePiece .model or a .tiktoken file. The path "" means
// the embedded model.
func OpenTokenizer(path string) (*Tokenizer, error) {
	if text.IsVocabulary(path) {
		t, err := text.LoadFile(path)
		if err != nil {
			return nil, err
		}
		return &Tokenizer{t}, nil
	}
	if bare := filepath.Join(path, "tokenizer.json"); path != "" && file.IsFile(bare) && !file.IsFile(filepath.Join(path, "config.json")) {
		return OpenTokenizer(bare) // a folder with nothing but the tokenizer
	}
	return guarded(func() (*Tokenizer, error) { return tokenizerOf(path) })
}

func tokenizerOf(path string) (*Tokenizer, error) {
	d, err := engine.OpenFiles(path, "", file.HeaderOnly())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t, err := text.Load(d)
	if t == nil || t.Tokenizer == nil {
		return nil, engine.Named(path, err)
	}
	return &Tokenizer{t.Tokenizer}, nil
}

// Encode returns the ids of a text; with special set, between the special
// tokens that the tokenizer puts around a prompt.
func (t *Tokenizer) Encode(s string, special bool) []int32 { return t.t.Encode(s, special) }

// EncodePlain is Encode for a text in which control tokens, those that the vocabulary
// calls special, are text as any other: the ids of what somebody else wrote.
func (t *Tokenizer) EncodePlain(s string, special bool) []int32 { return t.t.EncodePlain(s, special) }

// Decode returns the text of ids. Special tokens are left out if skip is set.
func (t *Tokenizer) Decode(ids []int32, skip bool) string { return t.t.Decode(ids, skip) }

// Token returns the text of one id as the vocabulary spells it.
func (t *Tokenizer) Token(id int32) (string, bool) { return t.t.Token(id) }

// Bytes returns what one id writes behind others, which may be a part of a character. It
// reports false for special tokens and where that depends on its neighbours.
func (t *Tokenizer) Bytes(id int32) ([]byte, bool) { return t.t.Bytes(id) }

// Size returns the number of tokens in the vocabulary.
func (t *Tokenizer) Size() int { return t.t.VocabSize() }
