package atenia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"atenia/internal/engine"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/spelling"
	"atenia/internal/text/token"
	"atenia/place"
)

// ErrNotEncoder is matched by the errors of [Model.Embed], [Model.EmbedTokens] and
// [Model.Rerank] for a model that was opened for something else.
var ErrNotEncoder = errors.New("the model does not do this")

// EmbedOptions choose how [Model.Embed] and [Model.Rerank] read texts. The zero
// value reads them as they are.
type EmbedOptions struct {
	// Prompt is the name of one of the model's prompts, such as "query" or
	// "document", which then precedes every text: see [Encoding].Prompts. "" = the
	// model's default, usually none. Vectors of models that were trained with
	// prompts are much worse without.
	Prompt string
	// Pooling makes vectors with a model that was opened to generate text, of its last
	// hidden states: "mean", "cls" or "last", as in [Config].Pooling. The first
	// call opens the model's files a second time, whose bytes are in memory once as
	// long as they are not packed. "" = as the model was opened.
	Pooling string
	// Truncate cuts texts that are longer than the model was made for, at the end.
	// Otherwise they are a [*TextLengthError].
	Truncate bool
	// Read, unless nil, is told how many tokens of each text the model reads, those of
	// prompts and special tokens included, in the order of the texts.
	Read func(tokens int)
}

// An Encoding says what an encoder makes of a text.
type Encoding struct {
	Pooling    string            // "mean", "cls" (the first token) or "last"; "none" = a vector for each token
	Normalized bool              // vectors have length 1
	Dimensions int               // of a vector
	Labels     int               // scores of a classifier, for [Model.Rerank]; 0 = vectors
	MaxTokens  int               // of a text, special tokens included
	Prompts    map[string]string // by name: what precedes a text
	Prompt     string            // name of the default; "" = none
}

// A TextLengthError says that a text is longer than an encoder can read. Set
// [EmbedOptions].Truncate to cut it, or divide it.
type TextLengthError struct {
	Text   int // index in the call
	Tokens int // special tokens included
	Most   int // that the model was made for
	// More says that there are at least so many Tokens: the text was not read to its end.
	More bool
	// Bytes, if there are any, are those of a text that was not tokenized, since it has no
	// end of a word near enough to cut it there; Tokens is 0.
	Bytes int
}

// Error implements error.
func (e *TextLengthError) Error() string {
	if e.Bytes > 0 {
		return fmt.Sprintf("text %d has %d bytes, too many to read them all, and up to no space or end of a line the %d tokens that the model reads: divide it", e.Text, e.Bytes, e.Most)
	}
	least := ""
	if e.More {
		least = "at least "
	}
	return fmt.Sprintf("text %d has %s%d tokens, the model reads %d: divide it, or allow to cut it (Truncate, --truncate)", e.Text, least, e.Tokens, e.Most)
}

// Encoding returns what the model makes of texts; false for one that generates
// text instead.
func (m *Model) Encoding() (Encoding, bool) {
	c := &m.plan.compiled.Model.Config
	e := c.Encoder
	if e == nil {
		return Encoding{}, false
	}
	out := Encoding{Pooling: e.Pool, Normalized: e.Normalize, Dimensions: c.Width(), Labels: e.Labels, MaxTokens: e.Limit(m.Context()), Prompts: maps.Clone(e.Prompts), Prompt: e.Prompt}
	if e.Labels > 0 && e.Pool != "none" {
		out.Dimensions = 0
	}
	return out, true
}

// Embed returns one vector for each text, made for comparing meanings: the dot
// product of two normalized vectors is their cosine.
//
// The model is an encoder such as BERT, MiniLM, E5, BGE, Nomic, ModernBERT or
// EmbeddingGemma, a decoder whose folder says how to pool, such as
// Qwen3-Embedding, or any other that was opened with [Config].Pooling.
//
// Texts of one call, and of concurrent ones, are computed together; vectors are
// the same bits in any company. Long texts take a step of their own length in
// memory: see [Config].Context.
func (m *Model) Embed(ctx context.Context, texts []string, o EmbedOptions) ([][]float32, error) {
	rows, err := m.embed(ctx, texts, o, false)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(rows))
	for i := range rows {
		out[i] = rows[i][0]
	}
	return out, nil
}

// EmbedTokens returns for each text a vector of each token, special tokens
// included, of a model that was opened with [Config].Pooling "none".
func (m *Model) EmbedTokens(ctx context.Context, texts []string, o EmbedOptions) ([][][]float32, error) {
	return m.embed(ctx, texts, o, true)
}

func (m *Model) embed(ctx context.Context, texts []string, o EmbedOptions, tokens bool) ([][][]float32, error) {
	e, ok := m.Encoding()
	o.Pooling = spelling.Quotable(o.Pooling) // one that is so long is none, which its error says
	if !ok && o.Pooling != "" {
		v, err := m.vectors.open(ctx, m, o.Pooling)
		if err != nil {
			return nil, err
		}
		return v.embed(ctx, texts, o, tokens)
	}
	switch {
	case !ok:
		return nil, m.not("it generates text: choose a pooling (EmbedOptions.Pooling, --pooling) to make vectors of its hidden states")
	case o.Pooling != "" && o.Pooling != e.Pooling:
		return nil, m.not(fmt.Sprintf("it was opened with pooling %q, not %q", e.Pooling, o.Pooling))
	case e.Labels > 0 && e.Pooling != "none":
		return nil, m.not("it is a classifier of pairs of texts: use Model.Rerank or \"atenia rerank\"")
	case tokens != (e.Pooling == "none"):
		return nil, m.not(fmt.Sprintf("it was opened with pooling %q: Embed makes one vector of a text, EmbedTokens with pooling \"none\" one for each token", e.Pooling))
	}
	prefix, err := e.prefix(o.Prompt)
	if err != nil {
		return nil, err
	}
	in := make([]engine.Input, len(texts))
	for i, s := range texts {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if in[i], err = m.input(ctx, i, &e, o.Truncate, prefix+s); err != nil {
			return nil, err
		}
		if o.Read != nil {
			o.Read(len(in[i].Tokens))
		}
	}
	rows, err := m.engine.Encode(ctx, in)
	return rows, publish(err)
}

// vectors are the encoders of a model that generates text, by pooling: the same
// files with other plans.
type vectors struct {
	mu     sync.Mutex
	closed bool
	by     map[string]*Model
}

// open returns the encoder with a pooling, and opens it the first time.
func (v *vectors) open(ctx context.Context, m *Model, pooling string) (*Model, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.closed:
		return nil, ErrClosed
	case v.by[pooling] != nil:
		return v.by[pooling], nil
	case m.opened.Budget != (place.Budget{}) || m.engine.Placement() != nil:
		return nil, m.not("it is open within a budget, which has no room for an encoder besides: open it with Config.Pooling")
	}
	c := m.opened
	c.Draft = "" // texts are read at once
	c.Pooling, c.Pack, c.PackDir, c.Checkpoint, c.Decisions, c.Observe = pooling, "off", "", "", "", Observation{}
	e, err := Open(ctx, m.Path(), &c)
	if err != nil {
		return nil, err
	}
	if v.by == nil {
		v.by = map[string]*Model{}
	}
	v.by[pooling] = e
	return e, nil
}

func (v *vectors) close() (err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for _, m := range v.by {
		err = errors.Join(err, m.Close())
	}
	return err
}

func (m *Model) not(why string) error {
	return fmt.Errorf("%s (%s): %w: %s", engine.Display(m.Path()), m.Family(), ErrNotEncoder, why)
}

// prefix returns what precedes texts.
func (e *Encoding) prefix(name string) (string, error) {
	if name == "" {
		name = e.Prompt
	}
	text, ok := e.Prompts[name]
	if !ok && name != "" {
		return "", &ConfigError{"Prompt", spelling.Quotable(name), "one of the model's prompts: " + strings.Join(slices.Sorted(maps.Keys(e.Prompts)), ", ")}
	}
	return text, nil
}

// input returns the tokens of one text or of a pair.
func (m *Model) input(ctx context.Context, i int, e *Encoding, truncate bool, texts ...string) (engine.Input, error) {
	t := m.text.Tokenizer
	if t == nil {
		return engine.Input{}, m.textErr
	}
	fit, err := t.EncodeWithin(ctx, e.MaxTokens, texts...)
	if long, ok := errors.AsType[*token.LongError](err); ok {
		return engine.Input{}, &TextLengthError{Text: i, Most: e.MaxTokens, Bytes: long.Bytes}
	}
	if err != nil {
		return engine.Input{}, err
	}
	if fit.Cut > 0 && !truncate {
		return engine.Input{}, &TextLengthError{Text: i, Tokens: len(fit.IDs) + fit.Cut, Most: e.MaxTokens, More: fit.More}
	}
	ids, types := fit.IDs, fit.Types
	if m.plan.compiled.Model.Config.Encoder.Types < 2 { // the tokenizer may tell texts apart where the model does not
		types = nil
	}
	if len(ids) == 0 { // an empty text without special tokens
		ids, types = m.start(), nil
	}
	return engine.Input{Tokens: ids, Types: types}, nil
}

// A Ranking is one document with the score of a query.
type Ranking struct {
	Index int     // in the documents of the call
	Score float32 // the classifier's logit: higher is more relevant
}

// Probability returns the score as a number from 0 to 1, by the logistic function.
func (r Ranking) Probability() float64 { return 1 / (1 + math.Exp(-float64(r.Score))) }

// Rerank returns the documents in the order of their relevance to a query, the most
// relevant first. The model is a cross-encoder, a classifier of pairs of texts with
// one label, such as bge-reranker or ms-marco-MiniLM: it reads the query with
// each document, which is slower than comparing vectors of [Model.Embed], and more
// exact. Rerank the best hundred that a search found.
//
// Documents are computed together, as texts of Embed are. [EmbedOptions].Truncate
// cuts the longer one of a pair first.
func (m *Model) Rerank(ctx context.Context, query string, documents []string, o EmbedOptions) ([]Ranking, error) {
	e, ok := m.Encoding()
	if !ok || e.Labels != 1 || e.Pooling == "none" {
		why := "it is no classifier of pairs of texts"
		if e.Labels > 1 {
			why = fmt.Sprintf("it tells %d labels apart, a cross-encoder has one score", e.Labels)
		}
		return nil, m.not(why)
	}
	in := make([]engine.Input, len(documents))
	for i, s := range documents {
		var err error
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if in[i], err = m.input(ctx, i, &e, o.Truncate, query, s); err != nil {
			return nil, err
		}
	}
	rows, err := m.engine.Encode(ctx, in)
	if err != nil {
		return nil, publish(err)
	}
	out := make([]Ranking, len(rows))
	for i := range rows {
		out[i] = Ranking{Index: i, Score: rows[i][0][0]}
	}
	slices.SortStableFunc(out, func(a, b Ranking) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return out, nil
}

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

// Breakers returns texts as tokens, for [DRY].Breakers; nil = llama.cpp's texts.
func (t *Tokenizer) Breakers(texts []string) (out [][]int32) {
	if texts == nil {
		texts = []string{"\n", ":", "\"", "*"}
	}
	for _, text := range texts {
		if ids := t.Encode(text, false); len(ids) > 0 {
			out = append(out, ids)
		}
	}
	return out
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
