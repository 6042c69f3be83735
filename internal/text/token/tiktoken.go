package token

// Vocabularies of tiktoken: a line for each token, with its bytes in base64 and
// its rank, which is its id.

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Companion is what the file of a vocabulary does not say about a tokenizer.
type Companion struct {
	Pre   string       // tiktoken: the pre-tokenizer, by a name of tokenizer.ggml.pre
	Added []AddedToken // in addition to the file's own

	// Of tiktoken: the special tokens whose ids follow the ranks, and the number of
	// ids that are special whether a token is named for them or not.
	Special  []string
	Reserved int

	// Before and After are the tokens around a text. Those that the vocabulary
	// lacks are left out.
	Before, After []string
	OnlyFirst     bool // SentencePiece: no space is put in front of text after an added token
	Fairseq       bool // SentencePiece: the ids are those of fairseq, one higher
}

// LooksLikeTiktoken tells a list of ranks from a SentencePiece model; both are
// published as tokenizer.model.
func LooksLikeTiktoken(data []byte) bool {
	line, _, _ := bytes.Cut(data[:min(len(data), 1<<12)], []byte("\n"))
	_, _, err := rankLine(line)
	return err == nil
}

// rankLine reads "base64 rank".
func rankLine(line []byte) (token []byte, rank int, err error) {
	text, number, ok := bytes.Cut(bytes.TrimRight(line, "\r"), []byte(" "))
	if !ok {
		return nil, 0, fmt.Errorf("a line without a space")
	}
	token = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(token, text)
	if err != nil {
		return nil, 0, err
	}
	if rank, err = strconv.Atoi(string(number)); err == nil && rank < 0 {
		err = fmt.Errorf("rank %d", rank)
	}
	return token[:n], rank, err
}

// LoadTiktoken reads a .tiktoken file. Errors are [*FormatError] and, for an
// unknown pre-tokenizer, [*UnknownError]; a path is the number of a line.
func LoadTiktoken(data []byte, c Companion) (*Tokenizer, error) {
	p, ok := preOf(c.Pre)
	if !ok || p.whole || p.plain {
		return nil, &UnknownError{"pre", "pre-tokenizer of tiktoken", c.Pre}
	}
	lines := bytes.Count(data, []byte("\n")) + 1
	limit := idLimit(lines)
	lex := newLexicon(0)
	offset := int64(0)
	for i := 1; len(data) > 0; i++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		at := offset
		offset, data = offset+int64(len(line))+1, rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		wrong := func(want string, got any) error {
			return &FormatError{Path: fmt.Sprintf("line %d", i), Offset: at, Want: want, Got: clip(got)}
		}
		token, rank, err := rankLine(line)
		if err != nil {
			return nil, wrong("a token in base64 and its rank", err)
		}
		if len(token) == 0 {
			return nil, wrong("a token", "nothing")
		}
		if rank >= limit {
			return nil, wrong(fmt.Sprintf("a rank below %d", limit), rank)
		}
		text := byteForm(token)
		if len(text) > maxRankedToken {
			return nil, wrong(fmt.Sprintf("a token of at most %d bytes, two for each byte that is no letter, digit or mark of ASCII", maxRankedToken), len(text))
		}
		if _, twice := lex.IDs[text]; twice {
			return nil, wrong("each token once", token)
		}
		if rank < len(lex.Tokens) && lex.Known[rank] {
			return nil, wrong("a rank of its own", rank)
		}
		lex.Add(text, int32(rank))
	}
	if len(lex.IDs) == 0 {
		return nil, &FormatError{Path: "line 1", Want: "a token in base64 and its rank", Got: "nothing"}
	}
	for b := range 256 {
		if _, ok := lex.IDs[string(byteChar[b])]; !ok {
			return nil, &FormatError{Path: "ranks", Want: "a token for each byte", Got: fmt.Sprintf("none for byte %d", b)}
		}
	}
	m := &bpe{Lex: lex, Unk: none, IgnoreMerges: true}
	m.setRanks(len(lex.Tokens))
	t := &Tokenizer{lex: lex, model: m, normalizer: p.form, cutter: p.cut(), decoder: byteDecoder{}}
	c.Added = c.specials(int32(len(lex.Tokens)))
	return t, t.accompany(c, limit)
}

// specials returns the added tokens with those after the ranks, of which n is the
// number. A token named for an id replaces the program's own.
func (c *Companion) specials(n int32) []AddedToken {
	out := slices.Clone(c.Added)
	taken, named := map[int32]bool{}, map[string]bool{}
	for _, a := range out {
		taken[a.ID], named[a.Content] = true, true
	}
	for i := range int32(max(len(c.Special), c.Reserved)) {
		text := fmt.Sprintf("<|reserved_token_%d|>", n+i)
		if int(i) < len(c.Special) {
			text = c.Special[i]
		}
		if !taken[n+i] && !named[text] {
			out = append(out, AddedToken{ID: n + i, Content: text, Special: true})
		}
	}
	return out
}

// byteForm is the inverse of [bytesOf].
func byteForm(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(byteChar[c])
	}
	return s.String()
}

// accompany adds what the companion says and completes the tokenizer.
func (t *Tokenizer) accompany(c Companion, limit int) error {
	limit += len(c.Added)
	have := map[string]int{}
	for i, a := range t.added {
		have[a.Content] = i
	}
	for i, a := range c.Added {
		path := func() string { return fmt.Sprintf("added_tokens[%d]", i) }
		if a.Content == "" {
			continue
		}
		id, known := t.lex.IDs[a.Content]
		held, taken := t.lex.Token(a.ID)
		switch {
		case a.ID < 0 || int(a.ID) >= limit:
			return &FormatError{Path: path(), Want: fmt.Sprintf("an id from 0 to %d", limit-1), Got: fmt.Sprint(a.ID)}
		case known && id != a.ID:
			return &FormatError{Path: path(), Want: fmt.Sprintf("%d, which %q has already", id, a.Content), Got: fmt.Sprint(a.ID)}
		case taken && held != a.Content:
			return &FormatError{Path: path(), Want: "an id of its own", Got: fmt.Sprintf("%d, as %q has", a.ID, held)}
		}
		if !known {
			t.lex.Add(a.Content, a.ID)
		}
		if k, ok := have[a.Content]; ok { // the companion knows its rules
			t.added[k] = a
			continue
		}
		have[a.Content] = len(t.added)
		t.added = append(t.added, a)
	}
	t.post = t.around(c)
	return t.complete()
}

// around returns the template that puts the companion's tokens around a text, or
// around each of two. Fairseq's has two tokens between them.
func (t *Tokenizer) around(c Companion) postProcessor {
	slots := func(tokens []string) (out []slot) {
		for _, text := range tokens {
			if id, ok := t.lex.IDs[text]; ok {
				out = append(out, slot{ids: []int32{id}})
			}
		}
		return out
	}
	before, after := slots(c.Before), slots(c.After)
	if len(before)+len(after) == 0 {
		return nil
	}
	single := slices.Concat(before, []slot{{text: 0}}, after)
	between := after
	if c.Fairseq {
		between = slices.Concat(after, after)
	}
	return template{single, slices.Concat(before, []slot{{text: 0}}, between, []slot{{text: 1}}, after)}
}
