package token

// SentencePiece BPE as defined by GGUF files of model "llama": instead of a list
// of merges every token has a score. Two neighbours can merge if their text is a
// token; the highest score merges first, the leftmost of equal ones. The files of
// SentencePiece itself have kinds of pieces besides (sentencepiece.go).

// spm is the SentencePiece model.
type spm struct {
	Lex      *lexicon
	Scores   []float32
	Unk      int32 // or None
	Bytes    [256]int32
	AllBytes bool

	// Of SentencePiece files only; nil in GGUF.
	Types   []int32 // only normal, user-defined and unused pieces result from merges
	Defined *trie   // user-defined pieces, which are found first and never merge
}

// mergeable reports whether neighbours can become the token id.
func (m *spm) mergeable(id int32) bool {
	if m.Types == nil {
		return true
	}
	switch m.Types[id] {
	case TypeNormal, TypeUserDefined, TypeUnused:
		return true
	}
	return false
}

// A bigram is a heap entry: two neighbours whose joined text is a token.
type bigram struct {
	score       float32
	left, right int32
	size        int32 // bytes of both, to detect that either has changed
}

func (a bigram) less(b bigram) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return a.left < b.left
}

// Tokenize implements [tokenModel].
func (m *spm) Tokenize(p Piece, sc *Scratch) {
	s := p.S
	syms := sc.syms[:0]
	starts := make([]int32, 0, len(s))
	var frozen []bool
	for i, n := 0, 0; i < len(s); i += n {
		_, n = decodeRune(s[i:])
		if m.Defined != nil {
			end, _ := m.Defined.Longest(s, i, 0)
			if end > 0 {
				n = end - i
			}
			frozen = append(frozen, end > 0)
		}
		k := int32(len(syms))
		syms = append(syms, symbol{size: int32(n), prev: k - 1, next: k + 1})
		starts = append(starts, int32(i))
	}
	syms[len(syms)-1].next = none
	var heap []bigram
	var halves map[string]int32 // how unused pieces came about: the size of the left half
	push := func(l, r int32) {
		if l < 0 || r < 0 || frozen != nil && (frozen[l] || frozen[r]) {
			return
		}
		size := syms[l].size + syms[r].size
		if id, ok := m.Lex.IDs[s[starts[l]:starts[l]+size]]; ok && m.mergeable(id) {
			if m.Types != nil && m.Types[id] == TypeUnused {
				if halves == nil {
					halves = map[string]int32{}
				}
				halves[s[starts[l]:starts[l]+size]] = syms[l].size
			}
			heap = heapPush(heap, bigram{m.Scores[id], l, r, size})
		}
	}
	for i := int32(1); i < int32(len(syms)); i++ {
		push(i-1, i)
	}
	for len(heap) > 0 {
		var b bigram
		b, heap = heapPop(heap)
		l, r := &syms[b.left], &syms[b.right]
		if l.size == 0 || r.size == 0 || l.size+r.size != b.size {
			continue
		}
		l.size, r.size = b.size, 0
		l.next = r.next
		if r.next >= 0 {
			syms[r.next].prev = b.left
		}
		push(l.prev, b.left)
		push(b.left, l.next)
	}
	before := len(sc.Toks)
	for i := int32(0); i >= 0; i = syms[i].next {
		m.emit(s, starts[i], starts[i]+syms[i].size, halves, sc)
	}
	sc.syms = syms
	if m.Types != nil && !m.AllBytes {
		sc.joinUnknown(before, m.Unk)
	}
}

// emit appends the token of bytes a to b of s; of an unused piece, those of its
// halves.
func (m *spm) emit(s string, a, b int32, halves map[string]int32, sc *Scratch) {
	id, ok := m.Lex.IDs[s[a:b]]
	if ok && m.Types != nil {
		if left, split := halves[s[a:b]]; split && m.Types[id] == TypeUnused {
			m.emit(s, a, a+left, halves, sc)
			m.emit(s, a+left, b, halves, sc)
			return
		}
	}
	switch {
	case ok:
		sc.Toks = append(sc.Toks, tok{id, a, b})
	case m.AllBytes:
		for k := a; k < b; k++ {
			sc.Toks = append(sc.Toks, tok{m.Bytes[s[k]], k, k + 1})
		}
	case m.Unk != none:
		sc.Toks = append(sc.Toks, tok{m.Unk, a, b})
	}
}
