package token

// Byte-pair encoding (Sennrich et al., arXiv:1508.07909): a word starts as
// characters or bytes; the adjacent pair of lowest rank is merged, the leftmost
// of equal ones first, until no pair has a rank.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bpe is the byte-pair encoding model. Words are characters, or raw bytes after
// UseRaw.
type bpe struct {
	Lex    *lexicon
	merges pairTable
	// Pairs lists the merges in rank order, for writers.
	Pairs [][2]int32

	Unk            int32 // or None
	Prefix, Suffix string
	FuseUnk        bool
	ByteFallback   bool
	IgnoreMerges   bool
	Bytes          [256]int32 // of <0x00> … <0xFF>, for ByteFallback
	AllBytes       bool

	raw   bool
	first [256]int32 // byte-level: the token of each byte
	last  [256]int32 // … and of each at the end of a word
}

// UseRaw prepares the model for raw bytes. It returns false, and changes
// nothing, if a byte is missing in the vocabulary.
func (m *bpe) UseRaw() bool {
	if m.Prefix != "" {
		return false
	}
	for b := range m.first {
		char := string(byteChar[b])
		first, ok := m.Lex.IDs[char]
		last, ok2 := m.Lex.IDs[char+m.Suffix]
		if !ok || !ok2 {
			return false
		}
		m.first[b], m.last[b] = first, last
	}
	m.raw = true
	return true
}

// A symbol is a part of a word that is a token.
type symbol struct {
	id         int32
	size       int32 // bytes of the word, none for those of an affix; gone once merged into its left neighbour
	prev, next int32
}

// gone is the size of a symbol that has been merged.
const gone = -1

// Tokenize implements [tokenModel].
func (m *bpe) Tokenize(p Piece, sc *Scratch) {
	e, hit := sc.recall(m, p.S)
	if hit {
		sc.Toks = e.tokens(sc.Toks)
		return
	}
	before := len(sc.Toks)
	m.merge(p.S, sc)
	if e != nil {
		e.store(m, p.S, sc.Toks[before:])
	}
}

func (m *bpe) merge(word string, sc *Scratch) {
	if m.IgnoreMerges {
		if id, ok := m.whole(word, sc); ok {
			sc.Toks = append(sc.Toks, tok{id, 0, int32(len(word))})
			return
		}
	}
	sc.syms = sc.syms[:0]
	if m.raw {
		for i := range len(word) {
			sc.syms = append(sc.syms, symbol{id: m.first[word[i]], size: 1})
		}
		sc.syms[len(word)-1].id = m.last[word[len(word)-1]]
	} else {
		m.characters(word, sc)
	}
	if len(sc.syms) > shortWord {
		m.mergeLong(sc)
	} else {
		m.mergeShort(sc)
	}
	at := int32(0)
	for _, s := range sc.syms {
		if s.size != gone {
			sc.Toks = append(sc.Toks, tok{s.id, at, at + s.size})
			at += s.size
		}
	}
}

// whole returns the token that equals word.
func (m *bpe) whole(word string, sc *Scratch) (int32, bool) {
	if !m.raw {
		id, ok := m.Lex.IDs[word]
		return id, ok
	}
	sc.text = sc.text[:0]
	for i := range len(word) {
		sc.text = utf8.AppendRune(sc.text, byteChar[word[i]])
	}
	id, ok := m.Lex.IDs[string(sc.text)]
	return id, ok
}

// characters fills sc.syms with the tokens of word's characters; for unknown
// ones with bytes, an unknown token, or nothing, depending on the model. The bytes of
// a prefix or suffix are no bytes of the word: the reference counts them, so that its
// offsets point behind the word.
func (m *bpe) characters(word string, sc *Scratch) {
	unknown := int32(0) // bytes of a pending unknown token
	flush := func() {
		if unknown > 0 {
			sc.syms = append(sc.syms, symbol{id: m.Unk, size: unknown})
			unknown = 0
		}
	}
	for i, n := 0, 0; i < len(word); i += n {
		_, n = decodeRune(word[i:])
		char := word[i : i+n]
		if i > 0 && m.Prefix != "" {
			char = m.Prefix + char
		}
		if i+n == len(word) && m.Suffix != "" {
			char += m.Suffix
		}
		if id, ok := m.Lex.IDs[char]; ok {
			flush()
			sc.syms = append(sc.syms, symbol{id: id, size: int32(n)})
			continue
		}
		if m.ByteFallback && m.hasBytes(char) {
			// A pending unknown token stays pending, as in the reference.
			from := 0
			if i > 0 {
				from = len(m.Prefix)
			}
			for k := range len(char) {
				s := symbol{id: m.Bytes[char[k]]}
				if k >= from && k < from+n {
					s.size = 1
				}
				sc.syms = append(sc.syms, s)
			}
			continue
		}
		if m.Unk != none {
			if !m.FuseUnk {
				flush()
			}
			unknown += int32(n)
		}
	}
	flush()
}

func (m *bpe) hasBytes(s string) bool {
	if m.AllBytes {
		return true
	}
	for i := range len(s) {
		if m.Bytes[s[i]] == none {
			return false
		}
	}
	return true
}

// shortWord is the number of symbols up to which rescanning all pairs after each
// merge is faster than a heap.
const shortWord = 48

// mergeShort merges sc.syms in place and removes merged symbols.
func (m *bpe) mergeShort(sc *Scratch) {
	syms, ranks := sc.syms, sc.ranks[:0]
	for i := 1; i < len(syms); i++ {
		ranks = append(ranks, m.merges.get(syms[i-1].id, syms[i].id))
	}
	for {
		best, at := noMerge, 0
		for i, r := range ranks {
			if r < best {
				best, at = r, i
			}
		}
		if best == noMerge {
			break
		}
		syms[at].id = int32(uint32(best))
		syms[at].size += syms[at+1].size
		syms = append(syms[:at+1], syms[at+2:]...)
		ranks = append(ranks[:at], ranks[at+1:]...)
		if at > 0 {
			ranks[at-1] = m.merges.get(syms[at-1].id, syms[at].id)
		}
		if at < len(ranks) {
			ranks[at] = m.merges.get(syms[at].id, syms[at+1].id)
		}
	}
	sc.syms, sc.ranks = syms, ranks
}

// A merge is a heap entry: merge the symbol at pos with the next one.
type merge struct {
	rank uint64 // rank<<32 | id of the result, as in the table
	pos  int32
}

func (a merge) less(b merge) bool {
	if a.rank>>32 != b.rank>>32 {
		return a.rank>>32 < b.rank>>32
	}
	return a.pos < b.pos
}

// mergeLong merges sc.syms with a heap over a linked list in O(n log n), for
// words of any length. Merged symbols stay in place with size gone.
func (m *bpe) mergeLong(sc *Scratch) {
	syms := sc.syms
	sc.heap = sc.heap[:0]
	for i := range syms {
		syms[i].prev, syms[i].next = int32(i-1), int32(i+1)
	}
	syms[len(syms)-1].next = none
	push := func(i, j int32) {
		if i >= 0 && j >= 0 {
			if r := m.merges.get(syms[i].id, syms[j].id); r != noMerge {
				sc.heap = heapPush(sc.heap, merge{r, i})
			}
		}
	}
	for i := range int32(len(syms) - 1) {
		push(i, i+1)
	}
	for len(sc.heap) > 0 {
		var top merge
		top, sc.heap = heapPop(sc.heap)
		left := &syms[top.pos]
		if left.size == gone || left.next < 0 {
			continue
		}
		right := &syms[left.next]
		// The pair may have changed since it was pushed.
		if m.merges.get(left.id, right.id) != top.rank {
			continue
		}
		left.id = int32(uint32(top.rank))
		left.size += right.size
		right.size = gone
		left.next = right.next
		if right.next >= 0 {
			syms[right.next].prev = top.pos
		}
		push(left.prev, top.pos)
		push(top.pos, left.next)
	}
}

// ordered is the element type of a heap.
type ordered[T any] interface{ less(T) bool }

func heapPush[T ordered[T]](h []T, x T) []T {
	h = append(h, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].less(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

func heapPop[T ordered[T]](h []T) (T, []T) {
	top, n := h[0], len(h)-1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	return top, h
}

// pairTable maps a pair of ids to rank<<32 | id of the merged token: an
// open-addressing hash table, because this lookup dominates tokenization.
type pairTable struct {
	keys   []uint64 // pair + 1, 0 for an empty slot
	values []uint64
	shift  uint
}

const noMerge = ^uint64(0)

// newPairTable returns a table with room for n pairs.
func newPairTable(n int) pairTable {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	return pairTable{keys: make([]uint64, 1<<bits), values: make([]uint64, 1<<bits), shift: 64 - bits}
}

func pairKey(a, b int32) uint64 { return (uint64(uint32(a))<<32 | uint64(uint32(b))) + 1 }

func (t *pairTable) place(key uint64) int {
	i := int(key * 0x9e3779b97f4a7c15 >> t.shift)
	for t.keys[i] != key && t.keys[i] != 0 {
		i = (i + 1) & (len(t.keys) - 1)
	}
	return i
}

// set records a merge; a later one for the same pair replaces it.
func (t *pairTable) set(a, b int32, rank int, result int32) {
	i := t.place(pairKey(a, b))
	t.keys[i], t.values[i] = pairKey(a, b), uint64(rank)<<32|uint64(uint32(result))
}

func (t *pairTable) get(a, b int32) uint64 {
	key := pairKey(a, b)
	if i := t.place(key); t.keys[i] == key {
		return t.values[i]
	}
	return noMerge
}

// ReachesAll reports whether every token of the vocabulary but those of added,
// which are found before, is the result of merges, so that ignore_merges makes no
// difference.
func (m *bpe) ReachesAll(added []AddedToken) bool {
	found := make(map[int32]bool, len(added))
	for _, a := range added {
		found[a.ID] = !a.SingleWord
	}
	plain := *m
	plain.IgnoreMerges = false
	var sc Scratch
	for id, s := range m.Lex.Tokens {
		if m.raw {
			b, ok := bytesOf(s)
			if !ok {
				continue // only added tokens
			}
			s = string(b)
		}
		if s == "" || found[int32(id)] {
			continue
		}
		sc.Toks = sc.Toks[:0]
		plain.merge(s, &sc)
		if len(sc.Toks) != 1 || sc.Toks[0].ID != int32(id) {
			return false
		}
	}
	return true
}

// Scores derives scores from ranks, for programs that merge by score: the
// earlier a token can be made, the higher.
func (m *bpe) Scores() []float32 {
	scores := make([]float32, len(m.Lex.Tokens))
	for i := range scores {
		scores[i] = -float32(len(m.Pairs) + 1)
	}
	for rank, p := range slices.Backward(m.Pairs) {
		if r := m.merges.get(p[0], p[1]); r != noMerge {
			scores[int32(uint32(r))] = -float32(rank)
		}
	}
	return scores
}

// A mergeError says which merge of a list is invalid.
type mergeError struct {
	Rank      int
	Want, Got string
}

func (e *mergeError) Error() string {
	return fmt.Sprintf("merge %d: want %s, got %q", e.Rank, e.Want, e.Got)
}

// setRanks makes every split of each of the first n tokens into two of them a
// merge, of the token's id as rank, as tiktoken does. It returns the id of a
// token that is too long, or None.
func (m *bpe) setRanks(n int) (long int32) {
	type pair struct{ a, b, result int32 }
	var pairs []pair
	for id, s := range m.Lex.Tokens[:n] {
		if len(s) > maxRankedToken {
			return int32(id)
		}
		for k := 1; k < len(s); k++ {
			a, ok := m.Lex.IDs[s[:k]]
			b, ok2 := m.Lex.IDs[s[k:]]
			if ok && ok2 && int(a) < n && int(b) < n {
				pairs = append(pairs, pair{a, b, int32(id)})
			}
		}
	}
	m.merges = newPairTable(len(pairs))
	m.Pairs = make([][2]int32, len(pairs))
	for i, p := range pairs {
		m.merges.set(p.a, p.b, int(p.result), p.result)
		m.Pairs[i] = [2]int32{p.a, p.b}
	}
	return none
}

// maxRankedToken bounds the bytes of a token whose splits are looked up, because
// their cost grows with its square.
const maxRankedToken = 1 << 10

// SetMerges fills the merge table from pairs of tokens in rank order. Errors
// are [*mergeError].
func (m *bpe) SetMerges(pairs [][]string) error {
	m.merges = newPairTable(len(pairs))
	m.Pairs = make([][2]int32, 0, len(pairs))
	for rank, p := range pairs {
		bad := func(want string) error { return &mergeError{rank, want, strings.Join(p, " ")} }
		if len(p) != 2 {
			return bad("two tokens")
		}
		a, ok := m.Lex.IDs[p[0]]
		b, ok2 := m.Lex.IDs[p[1]]
		if !ok || !ok2 {
			return bad("tokens of the vocabulary")
		}
		if len(p[1]) < len(m.Prefix) {
			return bad("a second token that begins with the prefix")
		}
		result, ok := m.Lex.IDs[p[0]+p[1][len(m.Prefix):]]
		if !ok {
			return bad("tokens whose join is in the vocabulary")
		}
		m.merges.set(a, b, rank, result)
		m.Pairs = append(m.Pairs, [2]int32{a, b})
	}
	return nil
}
