package token

// WordPiece (Schuster and Nakajima, 2012), as in BERT: the longest token first,
// then the longest continuation, until the end of the word; a word that cannot
// be completed is unknown as a whole.

import "unicode/utf8"

// wordPiece is the WordPiece model.
type wordPiece struct {
	lex      *lexicon
	trie     *trie
	Prefix   string
	rest     int32 // trie node of the prefix of continuations, or None
	Unk      int32
	MaxChars int
}

// newWordPiece returns the model of a vocabulary; words of more than maxChars
// characters are unknown.
func newWordPiece(lex *lexicon, prefix string, unk int32, maxChars int) *wordPiece {
	ids := make([]int32, len(lex.Tokens))
	for i := range ids {
		ids[i] = int32(i)
	}
	t := newTrie(lex.Tokens, ids)
	return &wordPiece{lex: lex, trie: t, Prefix: prefix, rest: t.find(prefix), Unk: unk, MaxChars: maxChars}
}

// Tokenize implements [tokenModel].
func (m *wordPiece) Tokenize(p Piece, sc *Scratch) {
	before := len(sc.Toks)
	if utf8.RuneCountInString(p.S) <= m.MaxChars {
		node := int32(0)
		for i := 0; ; {
			end, id := -1, none
			if node >= 0 {
				end, id = m.trie.Longest(p.S, i, node)
			}
			if end < 0 {
				break
			}
			sc.Toks = append(sc.Toks, tok{id, int32(i), int32(end)})
			if end == len(p.S) {
				return
			}
			i, node = end, m.rest
		}
	}
	sc.Toks = append(sc.Toks[:before], tok{m.Unk, 0, int32(len(p.S))})
}
