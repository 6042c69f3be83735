package token

// WordPiece (Schuster and Nakajima, 2012), as BERT uses it: the longest token
// first, then the longest continuation, until the word is used up; a word
// with a rest is unknown as a whole.

import "unicode/utf8"

type wordPiece struct {
	lex      *lexicon
	trie     *trie
	prefix   string
	rest     int32 // trie node of the prefix of continuations, or none
	unk      int32
	maxChars int
}

// newWordPiece completes a model whose lexicon is set.
func newWordPiece(lex *lexicon, prefix string, unk int32, maxChars int) *wordPiece {
	ids := make([]int32, len(lex.tokens))
	for i := range ids {
		ids[i] = int32(i)
	}
	t := newTrie(lex.tokens, ids)
	return &wordPiece{lex: lex, trie: t, prefix: prefix, rest: t.find(prefix), unk: unk, maxChars: maxChars}
}

func (m *wordPiece) tokenize(p piece, sc *scratch) {
	before := len(sc.toks)
	if utf8.RuneCountInString(p.s) <= m.maxChars {
		node := int32(0)
		for i := 0; ; {
			end, id := -1, none
			if node >= 0 {
				end, id = m.trie.longest(p.s, i, node)
			}
			if end < 0 {
				break
			}
			sc.toks = append(sc.toks, tok{id, int32(i), int32(end)})
			if end == len(p.s) {
				return
			}
			i, node = end, m.rest
		}
	}
	sc.toks = append(sc.toks[:before], tok{m.unk, 0, int32(len(p.s))})
}
