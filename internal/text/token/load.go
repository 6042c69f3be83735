package token

// Reading tokenizer.json: the model and the added tokens; the other components
// are in components.go.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Load reads a tokenizer.json. Its truncation and padding options are settings
// for batches and ignored here. Errors are [*FormatError] and, for unsupported
// parts, [*UnknownError].
func Load(data []byte) (*Tokenizer, error) {
	file, err := sections(section{data, 0}, "$")
	if err != nil {
		return nil, err
	}
	l := &loader{}
	if v := file["version"]; !isNull(v.RawMessage) && string(v.RawMessage) != `"1.0"` {
		return nil, &UnknownError{"version", "version", clip(string(v.RawMessage))}
	}
	t := &Tokenizer{}
	t.lex, t.model = l.model(file["model"])
	t.normalizer = l.normalizer(file["normalizer"].RawMessage, "normalizer", 0)
	t.cutter = flatten(l.preTokenizer(file["pre_tokenizer"].RawMessage, "pre_tokenizer", 0))
	t.added = l.addedTokens(file["added_tokens"].RawMessage, t.lex)
	if m, ok := t.model.(*bpe); ok && l.unk != nil {
		m.Unk = l.unknownToken(t.lex, l.unk)
	}
	t.post = l.postProcessor(file["post_processor"].RawMessage, "post_processor", t.lex, 0)
	t.decoder = l.decoder(file["decoder"].RawMessage, "decoder", 0)
	if l.err != nil {
		return nil, l.err
	}
	if err := t.complete(); err != nil {
		return nil, err
	}
	return t, nil
}

// complete checks the whole and computes derived fields.
func (t *Tokenizer) complete() error {
	if err := t.bounded(); err != nil {
		return err
	}
	for id, s := range t.lex.Tokens {
		if len(s) > maxToken {
			return &FormatError{Path: fmt.Sprintf("token %d", id), Want: fmt.Sprintf("at most %d bytes", maxToken), Got: fmt.Sprint(len(s))}
		}
	}
	t.special = make([]bool, len(t.lex.Tokens))
	var plain, norm []AddedToken
	var plainTexts, normTexts []string
	for _, a := range t.added {
		if a.Special {
			t.special[t.lex.IDs[a.Content]] = true
		}
		if !a.Normalized {
			plain, plainTexts = append(plain, a), append(plainTexts, a.Content)
			continue
		}
		text := a.Content
		if t.normalizer != nil {
			text = t.normalizer.Normalize(Piece{S: text}).S
		}
		norm, normTexts = append(norm, a), append(normTexts, text)
	}
	t.original, t.normalized = newFinder(plain, plainTexts), newFinder(norm, normTexts)

	for i, c := range t.cutter {
		m, ok := c.(metaspace)
		t.origins = t.origins || ok && m.Prepend == "first" && (t.normalizer != nil || i > 0)
	}
	// With a final byte-level stage and a model that has every byte, the detour via
	// characters can be skipped.
	if n := len(t.cutter) - 1; n >= 0 {
		last, ok := t.cutter[n].(byteLevelSplit)
		m, isBPE := t.model.(*bpe)
		if ok && isBPE && m.UseRaw() {
			last.Raw = true
			t.cutter[n] = last
		}
	}
	return nil
}

// flatten returns nested sequences as one list.
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
	limit int // exclusive bound on ids; bounds memory by the size of the vocabulary
	err   error
	unk   *string // BPE's unknown token, which may be an added token
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *loader) wrong(path, want string, got any) {
	l.fail(&FormatError{Path: path, Want: want, Got: clip(got)})
}

// clip formats a value of a hostile file in bounded space.
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

// unmarshal decodes a component. Unknown fields are an [*UnknownError]: ignoring
// an option would change tokens.
func unmarshal(raw []byte, path string, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		return nil
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field != "" {
			path += "." + t.Field
		}
		return &FormatError{Path: path, Want: t.Type.String(), Got: "JSON " + t.Value}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, _ = strconv.Unquote(name)
		return &UnknownError{path, "option", name}
	}
	return &FormatError{Path: path, Want: "JSON", Got: err.Error()}
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

func (l *loader) model(raw section) (*lexicon, tokenModel) {
	empty := newLexicon(0)
	if isNull(raw.RawMessage) {
		l.wrong("model", "an object", "nothing")
		return empty, nil
	}
	f, err := sections(raw, "model")
	if err != nil {
		l.fail(err)
		return empty, nil
	}
	// Old files omit the type; the fields then determine the model.
	var kind string
	switch vocab := f["vocab"].RawMessage; {
	case !isNull(f["type"].RawMessage):
		l.read(f["type"].RawMessage, "model.type", &kind)
	case f["merges"].RawMessage != nil:
		kind = "BPE"
	case len(vocab) > 0 && vocab[0] == '[':
		kind = "Unigram"
	default:
		l.wrong("model.type", "a model's name", "nothing")
	}
	switch kind {
	case "BPE":
		return l.bpe(f)
	case "Unigram":
		return l.unigram(f)
	case "WordPiece":
		return l.wordPiece(f)
	default: // an earlier fault has been reported
		l.fail(&UnknownError{"model.type", "model", kind})
	}
	return empty, nil
}

// vocab reads {"token": id, …}.
func (l *loader) vocab(raw section) *lexicon {
	type entry struct {
		token string
		id    int64
	}
	var entries []entry
	r := raw.reader("model.vocab")
	err := r.object(func(token string) error {
		id, err := r.integer()
		entries = append(entries, entry{token, id})
		return err
	})
	lex := newLexicon(len(entries))
	if err != nil {
		l.fail(err)
		return lex
	}
	l.limit = idLimit(len(entries))
	for _, e := range entries {
		path := func() string { return fmt.Sprintf("model.vocab[%s]", clip(e.token)) }
		switch {
		case e.id < 0 || e.id >= int64(l.limit):
			l.wrong(path(), fmt.Sprintf("an id from 0 to %d", l.limit-1), e.id)
			return lex
		case int(e.id) < len(lex.Tokens) && lex.Known[e.id]:
			l.wrong(path(), "an id of its own", fmt.Sprintf("%d, as %q has", e.id, lex.Tokens[e.id]))
			return lex
		}
		if _, twice := lex.IDs[e.token]; twice {
			l.wrong(path(), "each token once", "two of it")
			return lex
		}
		lex.Add(e.token, int32(e.id))
	}
	return lex
}

// idLimit bounds the ids of a vocabulary of n entries: files have holes, but a
// table by id must not outgrow the file.
func idLimit(n int) int { return 4*n + 1<<12 }

// unknownToken returns the id of the unknown token, or None.
func (l *loader) unknownToken(lex *lexicon, token *string) int32 {
	if token == nil {
		return none
	}
	id, ok := lex.IDs[*token]
	if !ok {
		l.wrong("model.unk_token", "a token of the vocabulary", *token)
		return none
	}
	return id
}

func (l *loader) bpe(fields map[string]section) (*lexicon, tokenModel) {
	var f struct {
		Type         string   `json:"type"`
		Dropout      *float64 `json:"dropout"`
		UnkToken     *string  `json:"unk_token"`
		Prefix       *string  `json:"continuing_subword_prefix"`
		Suffix       *string  `json:"end_of_word_suffix"`
		FuseUnk      bool     `json:"fuse_unk"`
		ByteFallback bool     `json:"byte_fallback"`
		IgnoreMerges bool     `json:"ignore_merges"`
	}
	if !l.read(without(fields, "vocab", "merges"), "model", &f) {
		return newLexicon(0), nil
	}
	if f.Dropout != nil && *f.Dropout != 0 {
		l.fail(&UnknownError{"model.dropout", "option", "dropout: tokens at random"})
	}
	lex := l.vocab(fields["vocab"])
	m := &bpe{Lex: lex, Unk: none, FuseUnk: f.FuseUnk, ByteFallback: f.ByteFallback, IgnoreMerges: f.IgnoreMerges}
	l.unk = f.UnkToken
	if f.Prefix != nil {
		m.Prefix = *f.Prefix
	}
	if f.Suffix != nil {
		m.Suffix = *f.Suffix
	}
	m.Bytes, m.AllBytes = lex.ByteTokens()
	if pairs, err := readMerges(fields["merges"]); err != nil {
		l.fail(err)
	} else if err := m.SetMerges(pairs); err != nil {
		l.fail(badMerge("model.merges", err))
	}
	return lex, m
}

// readMerges reads ["a b", …] or [["a", "b"], …].
func readMerges(raw section) ([][]string, error) {
	var pairs [][]string
	if isNull(raw.RawMessage) {
		return nil, nil
	}
	r := raw.reader("model.merges")
	err := r.array(func() error {
		if r.next() == '"' {
			line, err := r.text()
			if !strings.HasPrefix(line, "#version") {
				pairs = append(pairs, strings.Split(line, " "))
			}
			return nth(err, len(pairs))
		}
		pair := make([]string, 0, 2)
		err := r.array(func() error {
			token, err := r.text()
			pair = append(pair, token)
			return err
		})
		pairs = append(pairs, pair)
		return nth(err, len(pairs)-1)
	})
	return pairs, err
}

// badMerge adds the path to the error of a merge.
func badMerge(path string, err error) error {
	if e, ok := errors.AsType[*mergeError](err); ok {
		return &FormatError{Path: fmt.Sprintf("%s[%d]", path, e.Rank), Want: e.Want, Got: clip(e.Got)}
	}
	return err
}

func (l *loader) unigram(fields map[string]section) (*lexicon, tokenModel) {
	var f struct {
		Type         string   `json:"type"`
		UnkID        *int64   `json:"unk_id"`
		ByteFallback bool     `json:"byte_fallback"`
		Alpha        *float64 `json:"alpha"`
		NBestSize    *int64   `json:"nbest_size"`
	}
	lex := newLexicon(0)
	if !l.read(without(fields, "vocab"), "model", &f) {
		return lex, nil
	}
	if f.Alpha != nil && *f.Alpha != 0 {
		l.fail(&UnknownError{"model.alpha", "option", "alpha: tokens at random"})
	}
	var scores []float64
	r := fields["vocab"].reader("model.vocab")
	err := r.array(func() error {
		token, err := "", r.take('[')
		if err == nil {
			token, err = r.text()
		}
		if err == nil {
			err = r.take(',')
		}
		score := 0.0
		if err == nil {
			score, err = r.float()
		}
		if err == nil {
			err = r.take(']')
		}
		lex.Add(token, int32(len(scores)))
		scores = append(scores, score)
		return nth(err, len(scores)-1)
	})
	if err != nil {
		l.fail(err)
		return lex, nil
	}
	l.limit = idLimit(len(scores))
	unk := none
	if f.UnkID != nil {
		if *f.UnkID < 0 || *f.UnkID >= int64(len(scores)) {
			l.wrong("model.unk_id", "an id of model.vocab", *f.UnkID)
			return lex, nil
		}
		unk = int32(*f.UnkID)
	}
	return lex, newUnigram(lex, scores, unk, f.ByteFallback)
}

func (l *loader) wordPiece(fields map[string]section) (*lexicon, tokenModel) {
	f := struct {
		Type     string `json:"type"`
		UnkToken string `json:"unk_token"`
		Prefix   string `json:"continuing_subword_prefix"`
		MaxChars int    `json:"max_input_chars_per_word"`
	}{UnkToken: "[UNK]", Prefix: "##", MaxChars: 100}
	if !l.read(without(fields, "vocab"), "model", &f) {
		return newLexicon(0), nil
	}
	lex := l.vocab(fields["vocab"])
	unk := l.unknownToken(lex, &f.UnkToken)
	if l.err != nil {
		return lex, nil
	}
	return lex, newWordPiece(lex, f.Prefix, unk, f.MaxChars)
}

func (l *loader) addedTokens(raw json.RawMessage, lex *lexicon) []AddedToken {
	var list []AddedToken
	if isNull(raw) || !l.read(raw, "added_tokens", &list) {
		return nil
	}
	l.limit += len(list)
	out := list[:0]
	for i, a := range list {
		path := fmt.Sprintf("added_tokens[%d]", i)
		if a.Content == "" {
			continue
		}
		have, ok := lex.Token(a.ID)
		id, known := lex.IDs[a.Content]
		switch {
		case len(a.Content) > maxToken:
			l.wrong(path+".content", fmt.Sprintf("at most %d bytes", maxToken), len(a.Content))
			return nil
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
			lex.Add(a.Content, a.ID)
		}
		out = append(out, a)
	}
	return out
}
