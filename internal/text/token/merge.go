package token

// The merges: the most frequent pair of adjacent tokens becomes a token, until
// there are enough tokens or no pair is frequent enough.

import (
	"cmp"
	"container/heap"
	"slices"
)

// A pair is two token ids, the left one in the upper half, so that pairs are
// ordered as numbers.
type pair uint64

func pairOf(a, b int32) pair { return pair(uint32(a))<<32 | pair(uint32(b)) }

func (p pair) left() int32  { return int32(p >> 32) }
func (p pair) right() int32 { return int32(uint32(p)) }

// A candidate is a pair that may be merged.
type candidate struct {
	pair  pair
	count int64   // when the candidate was pushed; never too low
	words []int32 // words that may contain the pair
}

// candidates is a heap: most frequent first, then smallest ids.
type candidates []candidate

func (h candidates) Len() int      { return len(h) }
func (h candidates) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h candidates) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].count, h[i].count), cmp.Compare(h[i].pair, h[j].pair)) < 0
}
func (h *candidates) Push(x any) { *h = append(*h, x.(candidate)) }
func (h *candidates) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}

// words holds the distinct words as tokens.
type words struct {
	words  [][]int32
	counts []int64
	pairs  map[pair]int64

	heap  candidates
	fresh []candidate    // the pairs created by the current merge
	at    map[pair]int32 // … and their index in fresh
}

// newWords converts words to the tokens of their bytes.
func newWords(w *counts, bytes *[256]int32) *words {
	c := &words{pairs: map[pair]int64{}, at: map[pair]int32{}}
	symbols := make([]int32, 0, w.bytes)
	for i, s := range w.sorted() {
		from := len(symbols)
		for k := range len(s) {
			symbols = append(symbols, bytes[s[k]])
		}
		word := symbols[from:len(symbols):len(symbols)]
		c.words, c.counts = append(c.words, word), append(c.counts, w.n[s])
		for k := 1; k < len(word); k++ {
			c.add(pairOf(word[k-1], word[k]), int32(i))
		}
	}
	c.release()
	return c
}

// add counts one more occurrence of a pair in a word.
func (c *words) add(p pair, word int32) {
	c.pairs[p] += c.counts[word]
	i, ok := c.at[p]
	if !ok {
		i = int32(len(c.fresh))
		c.at[p] = i
		c.fresh = append(c.fresh, candidate{pair: p})
	}
	if words := c.fresh[i].words; len(words) == 0 || words[len(words)-1] != word {
		c.fresh[i].words = append(words, word)
	}
}

// release moves the fresh pairs to the heap.
func (c *words) release() {
	for _, f := range c.fresh {
		if f.count = c.pairs[f.pair]; f.count > 0 {
			heap.Push(&c.heap, f)
		}
	}
	clear(c.fresh) // the heap owns their lists of words now
	c.fresh = c.fresh[:0]
	clear(c.at)
}

// next returns the most frequent pair.
func (c *words) next() (candidate, bool) {
	for len(c.heap) > 0 {
		top := &c.heap[0]
		if now := c.pairs[top.pair]; now != top.count {
			top.count = now // other merges have lowered it
			heap.Fix(&c.heap, 0)
			continue
		}
		return heap.Pop(&c.heap).(candidate), true
	}
	return candidate{}, false
}

// replace merges all occurrences of a pair.
func (c *words) replace(m candidate, id int32) {
	a, b := m.pair.left(), m.pair.right()
	for _, w := range m.words {
		word, n := c.words[w], c.counts[w]
		out := word[:0]
		for i := 0; i < len(word); i++ {
			if word[i] != a || i+1 == len(word) || word[i+1] != b {
				out = append(out, word[i])
				continue
			}
			if len(out) > 0 {
				c.pairs[pairOf(out[len(out)-1], a)] -= n
				c.add(pairOf(out[len(out)-1], id), w)
			}
			i++
			if i+1 < len(word) {
				c.pairs[pairOf(b, word[i+1])] -= n
				c.add(pairOf(id, word[i+1]), w)
			}
			out = append(out, id)
		}
		c.words[w] = out
	}
	c.release()
}

// length returns the number of tokens of all texts.
func (c *words) length() (n int64) {
	for i, w := range c.words {
		n += int64(len(w)) * c.counts[i]
	}
	return n
}

// merge learns the merges of a vocabulary that has its special tokens and bytes.
func (v *Vocabulary) merge(w *counts) {
	ids := map[string]int32{}
	for id, s := range v.Tokens {
		ids[s] = int32(id)
	}
	var bytes [256]int32
	chars := slices.Clone(byteChar[:])
	slices.Sort(chars)
	for _, r := range chars {
		ids[string(r)] = int32(len(v.Tokens))
		v.Tokens = append(v.Tokens, string(r))
	}
	for b, r := range byteChar {
		bytes[b] = ids[string(r)]
	}
	c := newWords(w, &bytes)
	defer func() { v.Length = c.length() }()
	for len(v.Tokens) < v.cfg.Size {
		m, ok := c.next()
		if !ok || m.count < max(1, v.cfg.MinCount) {
			return
		}
		joined := v.Tokens[m.pair.left()] + v.Tokens[m.pair.right()]
		// Two merges may give the same token: "aa"+"aaa" and "aaa"+"aa".
		id, known := ids[joined]
		if !known {
			id = int32(len(v.Tokens))
			ids[joined] = id
			v.Tokens = append(v.Tokens, joined)
		}
		v.Merges = append(v.Merges, [2]int32{m.pair.left(), m.pair.right()})
		c.replace(m, id)
	}
}
