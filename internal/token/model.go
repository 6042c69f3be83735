package token

// What the four model kinds share: the vocabulary, the tokens they emit and
// the working memory of one call.

import (
	"hash/maphash"
	"sync"
)

// A model turns one word into tokens.
type model interface {
	// tokenize appends the tokens of p, which is not empty, to sc.toks.
	tokenize(p piece, sc *scratch)
}

// A tok is a token and the bytes of its piece that it covers.
type tok struct {
	id   int32
	a, b int32
}

// lexicon is a vocabulary. ids need not be dense: a file may leave holes.
type lexicon struct {
	tokens []string // by id
	known  []bool   // false for a hole
	ids    map[string]int32
}

func newLexicon(size int) *lexicon {
	return &lexicon{tokens: make([]string, size), known: make([]bool, size), ids: make(map[string]int32, size)}
}

// add gives a token its id, growing the table as needed.
func (l *lexicon) add(token string, id int32) {
	for int(id) >= len(l.tokens) {
		l.tokens, l.known = append(l.tokens, ""), append(l.known, false)
	}
	l.tokens[id], l.known[id] = token, true
	l.ids[token] = id
}

func (l *lexicon) token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(l.tokens) || !l.known[id] {
		return "", false
	}
	return l.tokens[id], true
}

// byteTokens returns the ids of <0x00> … <0xFF>; ok is false where one is
// missing.
func (l *lexicon) byteTokens() (ids [256]int32, ok bool) {
	const hex = "0123456789ABCDEF"
	ok = true
	for b := range ids {
		id, found := l.ids["<0x"+string(hex[b>>4])+string(hex[b&15])+">"]
		ids[b], ok = id, ok && found
		if !found {
			ids[b] = none
		}
	}
	return ids, ok
}

// none marks an absent id inside this package.
const none int32 = -1

// scratch is the working memory of one call: reused, never shared by two at
// a time, so that nothing here needs a lock.
type scratch struct {
	toks  []tok
	syms  []symbol
	heap  []merge
	ranks []uint64
	path  []step
	text  []byte
	words []remembered
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// keptSymbols bounds what a scratch keeps of a long text's buffers.
const keptSymbols = 1 << 14

// borrow returns memory for one call; release gives it back.
func borrow() *scratch { return scratches.Get().(*scratch) }

func (sc *scratch) release() {
	if cap(sc.toks) > keptSymbols || cap(sc.syms) > keptSymbols || cap(sc.heap) > keptSymbols || cap(sc.path) > keptSymbols || cap(sc.text) > keptSymbols {
		*sc = scratch{words: sc.words}
	}
	scratches.Put(sc)
}

const (
	rememberedWords  = 1 << 12
	rememberedBytes  = 22
	rememberedTokens = 6
)

// A remembered word is one whose tokens are known: byte-level models meet the
// same short words again and again. The table is a fixed-size, direct-mapped
// cache in a call's scratch memory.
type remembered struct {
	owner model // tokens are of this model
	word  [rememberedBytes]byte
	size  uint8
	n     uint8
	ids   [rememberedTokens]int32
	ends  [rememberedTokens]uint8
}

var seed = maphash.MakeSeed()

// recall returns the place for word, and whether it holds word's tokens. The
// place is nil for a word that is too long.
func (sc *scratch) recall(m model, word string) (*remembered, bool) {
	if len(word) > rememberedBytes {
		return nil, false
	}
	if sc.words == nil {
		sc.words = make([]remembered, rememberedWords)
	}
	e := &sc.words[maphash.String(seed, word)%rememberedWords]
	return e, e.owner == m && int(e.size) == len(word) && string(e.word[:e.size]) == word
}

// store remembers toks for word at e, if they fit.
func (e *remembered) store(m model, word string, toks []tok) {
	if len(toks) > rememberedTokens {
		return
	}
	e.owner, e.size, e.n = m, uint8(copy(e.word[:], word)), uint8(len(toks))
	for i, t := range toks {
		e.ids[i], e.ends[i] = t.id, uint8(t.b)
	}
}

// tokens appends what was stored.
func (e *remembered) tokens(toks []tok) []tok {
	a := int32(0)
	for i := range e.n {
		b := int32(e.ends[i])
		toks = append(toks, tok{e.ids[i], a, b})
		a = b
	}
	return toks
}
