package token

// Reading tokenizer.json: the model and the added tokens are here, the other
// components in components.go.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Load reads a tokenizer.json. Its truncation and padding are settings for
// batches and have no effect here. Errors are [*FormatError] and, for parts
// that this package does not have, [*UnknownError].
func Load(data []byte) (*Tokenizer, error) {
	var file struct {
		Version       *string         `json:"version"`
		AddedTokens   json.RawMessage `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Decoder       json.RawMessage `json:"decoder"`
		Model         json.RawMessage `json:"model"`
	}
	if err := unmarshal(data, "", &file); err != nil {
		return nil, err
	}
	if file.Version != nil && *file.Version != "1.0" {
		return nil, &UnknownError{"version", "version", *file.Version}
	}
	l := &loader{limit: len(data)}
	t := &Tokenizer{}
	t.lex, t.model = l.model(file.Model)
	t.normalizer = l.normalizer(file.Normalizer, "normalizer", 0)
	t.cutter = flatten(l.preTokenizer(file.PreTokenizer, "pre_tokenizer", 0))
	t.added = l.addedTokens(file.AddedTokens, t.lex)
	if m, ok := t.model.(*bpe); ok && l.unk != nil {
		m.unk = l.unknownToken(t.lex, l.unk)
	}
	t.post = l.postProcessor(file.PostProcessor, "post_processor", t.lex, 0)
	t.decoder = l.decoder(file.Decoder, "decoder", 0)
	if l.err != nil {
		return nil, l.err
	}
	t.complete()
	return t, nil
}

// complete derives what the parts of a tokenizer imply.
func (t *Tokenizer) complete() {
	t.special = make([]bool, len(t.lex.tokens))
	var plain, norm []addedToken
	var plainTexts, normTexts []string
	for _, a := range t.added {
		if a.Special {
			t.special[t.lex.ids[a.Content]] = true
		}
		if !a.Normalized {
			plain, plainTexts = append(plain, a), append(plainTexts, a.Content)
			continue
		}
		text := a.Content
		if t.normalizer != nil {
			text = t.normalizer.normalize(piece{s: text}).s
		}
		norm, normTexts = append(norm, a), append(normTexts, text)
	}
	t.original, t.normalized = newFinder(plain, plainTexts), newFinder(norm, normTexts)

	for i, c := range t.cutter {
		m, ok := c.(metaspace)
		t.origins = t.origins || ok && m.prepend == "first" && (t.normalizer != nil || i > 0)
	}
	// A byte-level stage at the end and a model that has every byte skip the
	// detour over characters.
	if n := len(t.cutter) - 1; n >= 0 {
		last, ok := t.cutter[n].(byteLevel)
		m, isBPE := t.model.(*bpe)
		if ok && isBPE && m.useRaw() {
			last.raw = true
			t.cutter[n] = last
		}
	}
}

// flatten makes one list of nested sequences.
func flatten(p preTokenizer) preTokenizers {
	seq, ok := p.(preTokenizers)
	if !ok {
		if p == nil {
			return nil
		}
		return preTokenizers{p}
	}
	var out preTokenizers
	for _, q := range seq {
		out = append(out, flatten(q)...)
	}
	return out
}

// A loader reads components and keeps the first error.
type loader struct {
	limit int // ids must be below: bounds memory by the size of the file
	err   error
	unk   *string // BPE's unknown token, which may be an added one
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *loader) wrong(path, want string, got any) {
	l.fail(&FormatError{Path: path, Want: want, Got: clip(got)})
}

// clip shows a value of a hostile file in bounded space.
func clip(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strconv.QuoteToGraphic(s)
}

// isNull reports whether a component is absent.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// unmarshal decodes JSON into v. Fields that v lacks are an [*UnknownError]
// when path is not empty: an option this package ignored would change tokens.
func unmarshal(raw []byte, path string, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if path != "" {
		d.DisallowUnknownFields()
	}
	err := d.Decode(v)
	if err == nil {
		if _, extra := d.Token(); path == "" && extra == nil {
			return &FormatError{Path: "$", Offset: d.InputOffset(), Want: "end of file", Got: "more JSON"}
		}
		return nil
	}
	if path == "" {
		path = "$"
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field != "" {
			path += "." + t.Field
		}
		return &FormatError{Path: path, Offset: t.Offset, Want: t.Type.String(), Got: "JSON " + t.Value}
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &FormatError{Path: path, Offset: s.Offset, Want: "JSON", Got: s.Error()}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, _ = strconv.Unquote(name)
		return &UnknownError{path, "option", name}
	}
	return &FormatError{Path: path, Offset: d.InputOffset(), Want: "JSON", Got: err.Error()}
}

// read is unmarshal for components.
func (l *loader) read(raw json.RawMessage, path string, v any) bool {
	if err := unmarshal(raw, path, v); err != nil {
		l.fail(err)
		return false
	}
	return true
}

// kind returns the "type" of a component.
func (l *loader) kind(raw json.RawMessage, path string) string {
	var head struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		l.fail(unmarshal(raw, path, &head))
		l.wrong(path, "an object with a type", err)
		return ""
	}
	if head.Type == nil {
		l.wrong(path+".type", "a component's name", "nothing")
		return ""
	}
	return *head.Type
}

func (l *loader) model(raw json.RawMessage) (*lexicon, model) {
	empty := newLexicon(0)
	if isNull(raw) {
		l.wrong("model", "an object", "nothing")
		return empty, nil
	}
	var head struct {
		Type   *string         `json:"type"`
		Merges json.RawMessage `json:"merges"`
		Vocab  json.RawMessage `json:"vocab"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		l.wrong("model", "an object", err)
		return empty, nil
	}
	// Old files leave the type out; the fields then say which model it is.
	kind := ""
	switch {
	case head.Type != nil:
		kind = *head.Type
	case head.Merges != nil:
		kind = "BPE"
	case len(head.Vocab) > 0 && head.Vocab[0] == '[':
		kind = "Unigram"
	default:
		l.wrong("model.type", "a model's name", "nothing")
	}
	switch kind {
	case "BPE":
		return l.bpe(raw)
	case "Unigram":
		return l.unigram(raw)
	case "WordPiece":
		return l.wordPiece(raw)
	case "":
	default:
		l.fail(&UnknownError{"model.type", "model", kind})
	}
	return empty, nil
}

// vocab reads {"token": id, …}.
func (l *loader) vocab(tokens map[string]int64) *lexicon {
	lex := newLexicon(len(tokens))
	for token, id := range tokens {
		path := fmt.Sprintf("model.vocab[%s]", clip(token))
		switch {
		case id < 0 || id >= int64(l.limit):
			l.wrong(path, fmt.Sprintf("an id from 0 to %d", l.limit-1), id)
			return lex
		case int(id) < len(lex.tokens) && lex.known[id]:
			l.wrong(path, "an id of its own", fmt.Sprintf("%d, as %q has", id, lex.tokens[id]))
			return lex
		}
		lex.add(token, int32(id))
	}
	return lex
}

// unknownToken returns the id of the token for the unknown, or none.
func (l *loader) unknownToken(lex *lexicon, token *string) int32 {
	if token == nil {
		return none
	}
	id, ok := lex.ids[*token]
	if !ok {
		l.wrong("model.unk_token", "a token of the vocabulary", *token)
		return none
	}
	return id
}

func (l *loader) bpe(raw json.RawMessage) (*lexicon, model) {
	var f struct {
		Type         string           `json:"type"`
		Dropout      *float64         `json:"dropout"`
		UnkToken     *string          `json:"unk_token"`
		Prefix       *string          `json:"continuing_subword_prefix"`
		Suffix       *string          `json:"end_of_word_suffix"`
		FuseUnk      bool             `json:"fuse_unk"`
		ByteFallback bool             `json:"byte_fallback"`
		IgnoreMerges bool             `json:"ignore_merges"`
		Vocab        map[string]int64 `json:"vocab"`
		Merges       json.RawMessage  `json:"merges"`
	}
	if !l.read(raw, "model", &f) {
		return newLexicon(0), nil
	}
	if f.Dropout != nil && *f.Dropout != 0 {
		l.fail(&UnknownError{"model.dropout", "option", "dropout: tokens at random"})
	}
	lex := l.vocab(f.Vocab)
	m := &bpe{lex: lex, unk: none, fuseUnk: f.FuseUnk, byteFallback: f.ByteFallback, ignoreMerges: f.IgnoreMerges}
	l.unk = f.UnkToken
	if f.Prefix != nil {
		m.prefix = *f.Prefix
	}
	if f.Suffix != nil {
		m.suffix = *f.Suffix
	}
	m.bytes, m.allBytes = lex.byteTokens()

	var pairs [][]string
	if !isNull(f.Merges) && json.Unmarshal(f.Merges, &pairs) != nil {
		pairs = nil
		var lines []string
		if !l.read(f.Merges, "model.merges", &lines) {
			return lex, m
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "#version") {
				pairs = append(pairs, strings.Split(line, " "))
			}
		}
	}
	if err := m.setMerges(pairs); err != nil {
		err.Path = "model.merges" + err.Path
		l.fail(err)
	}
	return lex, m
}

// setMerges fills the merge table. The path of an error begins at the list.
func (m *bpe) setMerges(pairs [][]string) *FormatError {
	m.merges = newPairTable(len(pairs))
	m.pairs = make([][2]int32, 0, len(pairs))
	for rank, p := range pairs {
		bad := func(want string) *FormatError {
			return &FormatError{Path: fmt.Sprintf("[%d]", rank), Want: want, Got: clip(strings.Join(p, " "))}
		}
		if len(p) != 2 {
			return bad("two tokens")
		}
		a, ok := m.lex.ids[p[0]]
		b, ok2 := m.lex.ids[p[1]]
		if !ok || !ok2 {
			return bad("tokens of model.vocab")
		}
		joined := p[0] + strings.TrimPrefix(p[1], m.prefix)
		if len(p[1]) < len(m.prefix) {
			return bad("a second token that begins with the prefix")
		}
		if m.prefix != "" {
			joined = p[0] + p[1][len(m.prefix):]
		}
		result, ok := m.lex.ids[joined]
		if !ok {
			return bad("tokens whose join is in model.vocab")
		}
		m.merges.set(a, b, rank, result)
		m.pairs = append(m.pairs, [2]int32{a, b})
	}
	return nil
}

func (l *loader) unigram(raw json.RawMessage) (*lexicon, model) {
	var f struct {
		Type         string              `json:"type"`
		UnkID        *int64              `json:"unk_id"`
		Vocab        [][]json.RawMessage `json:"vocab"`
		ByteFallback bool                `json:"byte_fallback"`
		Alpha        *float64            `json:"alpha"`
		NBestSize    *int64              `json:"nbest_size"`
	}
	lex := newLexicon(0)
	if !l.read(raw, "model", &f) {
		return lex, nil
	}
	if f.Alpha != nil && *f.Alpha != 0 {
		l.fail(&UnknownError{"model.alpha", "option", "alpha: tokens at random"})
	}
	scores := make([]float64, len(f.Vocab))
	for i, entry := range f.Vocab {
		var token string
		if len(entry) != 2 || json.Unmarshal(entry[0], &token) != nil || json.Unmarshal(entry[1], &scores[i]) != nil {
			l.wrong(fmt.Sprintf("model.vocab[%d]", i), "[token, score]", fmt.Sprintf("%s", entry))
			return lex, nil
		}
		lex.add(token, int32(i))
	}
	unk := none
	if f.UnkID != nil {
		if *f.UnkID < 0 || *f.UnkID >= int64(len(f.Vocab)) {
			l.wrong("model.unk_id", "an id of model.vocab", *f.UnkID)
			return lex, nil
		}
		unk = int32(*f.UnkID)
	}
	return lex, newUnigram(lex, scores, unk, f.ByteFallback)
}

func (l *loader) wordPiece(raw json.RawMessage) (*lexicon, model) {
	f := struct {
		Type     string           `json:"type"`
		UnkToken string           `json:"unk_token"`
		Prefix   string           `json:"continuing_subword_prefix"`
		MaxChars int              `json:"max_input_chars_per_word"`
		Vocab    map[string]int64 `json:"vocab"`
	}{UnkToken: "[UNK]", Prefix: "##", MaxChars: 100}
	if !l.read(raw, "model", &f) {
		return newLexicon(0), nil
	}
	lex := l.vocab(f.Vocab)
	unk := l.unknownToken(lex, &f.UnkToken)
	if l.err != nil {
		return lex, nil
	}
	return lex, newWordPiece(lex, f.Prefix, unk, f.MaxChars)
}

func (l *loader) addedTokens(raw json.RawMessage, lex *lexicon) []addedToken {
	var list []addedToken
	if isNull(raw) || !l.read(raw, "added_tokens", &list) {
		return nil
	}
	out := list[:0]
	for i, a := range list {
		path := fmt.Sprintf("added_tokens[%d]", i)
		if a.Content == "" {
			continue
		}
		have, ok := lex.token(a.ID)
		id, known := lex.ids[a.Content]
		switch {
		case a.ID < 0 || int(a.ID) >= l.limit:
			l.wrong(path+".id", fmt.Sprintf("an id from 0 to %d", l.limit-1), a.ID)
			return nil
		case known && id != a.ID:
			l.wrong(path+".id", fmt.Sprintf("%d, which %q has already", id, a.Content), a.ID)
			return nil
		case ok && have != a.Content:
			l.wrong(path+".id", "an id of its own", fmt.Sprintf("%d, as %q has", a.ID, have))
			return nil
		}
		if !known {
			lex.add(a.Content, a.ID)
		}
		out = append(out, a)
	}
	return out
}
