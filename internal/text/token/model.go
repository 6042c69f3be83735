package token

// What the models share: the vocabulary, the emitted tokens and the scratch
// memory of a call.

import (
	"hash/maphash"
	"sync"
)

// A tokenModel turns one word into tokens.
type tokenModel interface {
	// Tokenize appends the tokens of p, which must not be empty, to sc.Toks.
	Tokenize(p Piece, sc *Scratch)
}

// A tok is a token and the bytes of its piece that it covers.
type tok struct {
	ID   int32
	A, B int32
}

// A lexicon is a vocabulary. Ids need not be dense: files may have holes.
type lexicon struct {
	Tokens []string // by id
	Known  []bool   // false for a hole
	IDs    map[string]int32
}

// newLexicon returns an empty vocabulary of the given size.
func newLexicon(size int) *lexicon {
	return &lexicon{Tokens: make([]string, size), Known: make([]bool, size), IDs: make(map[string]int32, size)}
}

// Add assigns an id to a token, growing the table as needed.
func (l *lexicon) Add(token string, id int32) {
	for int(id) >= len(l.Tokens) {
		l.Tokens, l.Known = append(l.Tokens, ""), append(l.Known, false)
	}
	l.Tokens[id], l.Known[id] = token, true
	l.IDs[token] = id
}

// Token returns the token of id; ok is false for a hole or an id out of range.
func (l *lexicon) Token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(l.Tokens) || !l.Known[id] {
		return "", false
	}
	return l.Tokens[id], true
}

// ByteTokens returns the ids of <0x00> … <0xFF>; ok is false if one is missing.
func (l *lexicon) ByteTokens() (ids [256]int32, ok bool) {
	const hex = "0123456789ABCDEF"
	ok = true
	for b := range ids {
		id, found := l.IDs["<0x"+string(hex[b>>4])+string(hex[b&15])+">"]
		ids[b], ok = id, ok && found
		if !found {
			ids[b] = none
		}
	}
	return ids, ok
}

// none is a missing id. It does not leave package token and this one.
const none int32 = -1

// A Scratch is the memory of one call. It is reused, but never shared by
// concurrent calls, so it needs no lock.
type Scratch struct {
	Toks  []tok
	syms  []symbol
	heap  []merge
	ranks []uint64
	path  []step
	text  []byte
	words []remembered
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// keptSymbols bounds the buffers that a scratch keeps after a long text.
const keptSymbols = 1 << 14

// borrow returns a Scratch for one call.
func borrow() *Scratch { return scratches.Get().(*Scratch) }

// Release returns the scratch to the pool; it must not be used afterwards.
func (sc *Scratch) Release() {
	if cap(sc.Toks) > keptSymbols || cap(sc.syms) > keptSymbols || cap(sc.heap) > keptSymbols || cap(sc.path) > keptSymbols || cap(sc.text) > keptSymbols {
		*sc = Scratch{words: sc.words}
	}
	scratches.Put(sc)
}

const (
	rememberedWords  = 1 << 12
	rememberedBytes  = 22
	rememberedTokens = 6
)

// A remembered word is one whose tokens are cached, because byte-level models
// see the same short words again and again. The cache is direct-mapped with a
// fixed size and belongs to a Scratch.
type remembered struct {
	owner tokenModel // model that produced the tokens
	word  [rememberedBytes]byte
	size  uint8
	n     uint8
	ids   [rememberedTokens]int32
	ends  [rememberedTokens]uint8
}

var seed = maphash.MakeSeed()

// recall returns the cache entry for word, and whether it holds word's tokens.
// The entry is nil for a word that is too long.
func (sc *Scratch) recall(m tokenModel, word string) (*remembered, bool) {
	if len(word) > rememberedBytes {
		return nil, false
	}
	if sc.words == nil {
		sc.words = make([]remembered, rememberedWords)
	}
	e := &sc.words[maphash.String(seed, word)%rememberedWords]
	return e, e.owner == m && int(e.size) == len(word) && string(e.word[:e.size]) == word
}

// store caches toks for word in e, if they fit.
func (e *remembered) store(m tokenModel, word string, toks []tok) {
	if len(toks) > rememberedTokens {
		return
	}
	e.owner, e.size, e.n = m, uint8(copy(e.word[:], word)), uint8(len(toks))
	for i, t := range toks {
		e.ids[i], e.ends[i] = t.ID, uint8(t.B)
	}
}

// tokens appends the cached tokens.
func (e *remembered) tokens(toks []tok) []tok {
	a := int32(0)
	for i := range e.n {
		b := int32(e.ends[i])
		toks = append(toks, tok{e.ids[i], a, b})
		a = b
	}
	return toks
}
