package token

// Byte-pair encoding (Sennrich et al., arXiv:1508.07909): a word starts as
// characters or bytes, and the adjacent pair of lowest rank merges until no
// pair has one; of equal pairs the leftmost goes first.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bpe is a model. Words arrive as characters, or as raw bytes if raw is set.
type bpe struct {
	lex    *lexicon
	merges pairTable
	// pairs lists the merges in rank order, for writers.
	pairs [][2]int32

	unk            int32 // or none
	prefix, suffix string
	fuseUnk        bool
	byteFallback   bool
	ignoreMerges   bool
	bytes          [256]int32 // of <0x00> … <0xFF>, for byteFallback
	allBytes       bool

	raw   bool
	first [256]int32 // byte-level: the token of each byte
	last  [256]int32 // … and of each at the end of a word
}

// useRaw prepares the model for raw bytes. It reports false, and changes
// nothing, when the vocabulary does not have every byte.
func (m *bpe) useRaw() bool {
	if m.prefix != "" {
		return false
	}
	for b := range m.first {
		char := string(byteChar[b])
		first, ok := m.lex.ids[char]
		last, ok2 := m.lex.ids[char+m.suffix]
		if !ok || !ok2 {
			return false
		}
		m.first[b], m.last[b] = first, last
	}
	m.raw = true
	return true
}

// A symbol is a token in the making.
type symbol struct {
	id         int32
	size       int32 // bytes of the word; 0 once merged into its left neighbour
	prev, next int32
}

func (m *bpe) tokenize(p piece, sc *scratch) {
	e, hit := sc.recall(m, p.s)
	if hit {
		sc.toks = e.tokens(sc.toks)
		return
	}
	before := len(sc.toks)
	m.merge(p.s, sc)
	if e != nil {
		e.store(m, p.s, sc.toks[before:])
	}
}

func (m *bpe) merge(word string, sc *scratch) {
	if m.ignoreMerges {
		if id, ok := m.whole(word, sc); ok {
			sc.toks = append(sc.toks, tok{id, 0, int32(len(word))})
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
		if s.size > 0 {
			sc.toks = append(sc.toks, tok{s.id, at, at + s.size})
			at += s.size
		}
	}
}

// whole returns the token that is all of word.
func (m *bpe) whole(word string, sc *scratch) (int32, bool) {
	if !m.raw {
		id, ok := m.lex.ids[word]
		return id, ok
	}
	sc.text = sc.text[:0]
	for i := range len(word) {
		sc.text = utf8.AppendRune(sc.text, byteChar[word[i]])
	}
	id, ok := m.lex.ids[string(sc.text)]
	return id, ok
}

// characters fills sc.syms with the tokens of word's characters, or what the
// model has in their place: bytes, an unknown token, nothing.
func (m *bpe) characters(word string, sc *scratch) {
	unknown := int32(0) // bytes of a pending unknown token
	flush := func() {
		if unknown > 0 {
			sc.syms = append(sc.syms, symbol{id: m.unk, size: unknown})
			unknown = 0
		}
	}
	for i, n := 0, 0; i < len(word); i += n {
		_, n = decodeRune(word[i:])
		char := word[i : i+n]
		if i > 0 && m.prefix != "" {
			char = m.prefix + char
		}
		if i+n == len(word) && m.suffix != "" {
			char += m.suffix
		}
		if id, ok := m.lex.ids[char]; ok {
			flush()
			sc.syms = append(sc.syms, symbol{id: id, size: int32(n)})
			continue
		}
		if m.byteFallback && m.hasBytes(char) {
			// A pending unknown token stays pending, as in the reference.
			for k := range len(char) {
				sc.syms = append(sc.syms, symbol{id: m.bytes[char[k]], size: 1})
			}
			continue
		}
		if m.unk != none {
			if !m.fuseUnk {
				flush()
			}
			unknown += int32(n)
		}
	}
	flush()
}

func (m *bpe) hasBytes(s string) bool {
	if m.allBytes {
		return true
	}
	for i := range len(s) {
		if m.bytes[s[i]] == none {
			return false
		}
	}
	return true
}

// shortWord is the number of symbols up to which looking at every pair again
// after each merge is faster than keeping a heap.
const shortWord = 48

// mergeShort merges sc.syms in place and drops what was merged away.
func (m *bpe) mergeShort(sc *scratch) {
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

// A merge is a heap entry: join the symbol at pos with the next one.
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

// mergeLong merges sc.syms with a heap over a linked list: n log n, for words
// of any length. Merged symbols keep their place with size 0.
func (m *bpe) mergeLong(sc *scratch) {
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
		if left.size == 0 || left.next < 0 {
			continue
		}
		right := &syms[left.next]
		// The pair may have changed since it was pushed.
		if m.merges.get(left.id, right.id) != top.rank {
			continue
		}
		left.id = int32(uint32(top.rank))
		left.size += right.size
		right.size = 0
		left.next = right.next
		if right.next >= 0 {
			syms[right.next].prev = top.pos
		}
		push(left.prev, top.pos)
		push(top.pos, left.next)
	}
}

// ordered is what a heap here holds.
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
// open-addressing hash table, since this lookup is what tokenizing costs.
type pairTable struct {
	keys   []uint64 // pair + 1, 0 for a free place
	values []uint64
	shift  uint
}

const noMerge = ^uint64(0)

// newPairTable makes room for n pairs.
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

// reachesAll reports whether merging alone finds every token of the
// vocabulary, so that ignore_merges makes no difference.
func (m *bpe) reachesAll() bool {
	plain := *m
	plain.ignoreMerges = false
	var sc scratch
	for id, s := range m.lex.tokens {
		if m.raw {
			b, ok := bytesOf(s)
			if !ok {
				continue // only added tokens
			}
			s = string(b)
		}
		if s == "" {
			continue
		}
		sc.toks = sc.toks[:0]
		plain.merge(s, &sc)
		if len(sc.toks) != 1 || sc.toks[0].id != int32(id) {
			return false
		}
	}
	return true
}

// scores makes scores of ranks, for programs that merge by score: the earlier
// a token can be made, the higher.
func (m *bpe) scores() []float32 {
	scores := make([]float32, len(m.lex.tokens))
	for i := range scores {
		scores[i] = -float32(len(m.pairs) + 1)
	}
	for rank, p := range slices.Backward(m.pairs) {
		if r := m.merges.get(p[0], p[1]); r != noMerge {
			scores[int32(uint32(r))] = -float32(rank)
		}
	}
	return scores
}

// A mergeError says which merge of a list is wrong.
type mergeError struct {
	rank      int
	want, got string
}

func (e *mergeError) Error() string {
	return fmt.Sprintf("merge %d: want %s, got %q", e.rank, e.want, e.got)
}

// setMerges fills the merge table. Errors are [*mergeError].
func (m *bpe) setMerges(pairs [][]string) error {
	m.merges = newPairTable(len(pairs))
	m.pairs = make([][2]int32, 0, len(pairs))
	for rank, p := range pairs {
		bad := func(want string) error { return &mergeError{rank, want, strings.Join(p, " ")} }
		if len(p) != 2 {
			return bad("two tokens")
		}
		a, ok := m.lex.ids[p[0]]
		b, ok2 := m.lex.ids[p[1]]
		if !ok || !ok2 {
			return bad("tokens of the vocabulary")
		}
		if len(p[1]) < len(m.prefix) {
			return bad("a second token that begins with the prefix")
		}
		result, ok := m.lex.ids[p[0]+p[1][len(m.prefix):]]
		if !ok {
			return bad("tokens whose join is in the vocabulary")
		}
		m.merges.set(a, b, rank, result)
		m.pairs = append(m.pairs, [2]int32{a, b})
	}
	return nil
}
