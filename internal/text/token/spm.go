package token

// SentencePiece BPE as defined by GGUF files of model "llama": instead of a list
// of merges every token has a score. Two neighbours can merge if their text is a
// token; the highest score merges first, the leftmost of equal ones.

// SPM is the SentencePiece model.
type SPM struct {
	Lex      *Lexicon
	Scores   []float32
	Unk      int32 // or None
	Bytes    [256]int32
	AllBytes bool
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

// Tokenize implements [Model].
func (m *SPM) Tokenize(p Piece, sc *Scratch) {
	s := p.S
	syms := sc.syms[:0]
	starts := make([]int32, 0, len(s))
	for i, n := 0, 0; i < len(s); i += n {
		_, n = DecodeRune(s[i:])
		k := int32(len(syms))
		syms = append(syms, symbol{size: int32(n), prev: k - 1, next: k + 1})
		starts = append(starts, int32(i))
	}
	syms[len(syms)-1].next = None
	var heap []bigram
	push := func(l, r int32) {
		if l < 0 || r < 0 {
			return
		}
		size := syms[l].size + syms[r].size
		if id, ok := m.Lex.IDs[s[starts[l]:starts[l]+size]]; ok {
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
	for i := int32(0); i >= 0; i = syms[i].next {
		a, b := starts[i], starts[i]+syms[i].size
		id, ok := m.Lex.IDs[s[a:b]]
		switch {
		case ok:
			sc.Toks = append(sc.Toks, tok{id, a, b})
		case m.AllBytes:
			for k := a; k < b; k++ {
				sc.Toks = append(sc.Toks, tok{m.Bytes[s[k]], k, k + 1})
			}
		case m.Unk != None:
			sc.Toks = append(sc.Toks, tok{m.Unk, a, b})
		}
	}
	sc.syms = syms
}
