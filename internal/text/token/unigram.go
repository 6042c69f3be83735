package token

// The unigram language model (Kudo, arXiv:1804.10959): of all splits of a text
// into pieces of the vocabulary, the one with the highest sum of scores.

// unknownPenalty is the difference between the lowest score and that of an
// unknown character.
const unknownPenalty = 10

// unigram is the unigram model.
type unigram struct {
	lex          *lexicon
	Scores       []float64 // by id
	trie         *trie
	Unk          int32 // or None
	unkScore     float64
	ByteFallback bool
	bytes        [256]int32
	allBytes     bool
}

// newUnigram returns the model of a vocabulary and its scores.
func newUnigram(lex *lexicon, scores []float64, unk int32, byteFallback bool) *unigram {
	m := &unigram{lex: lex, Scores: scores, Unk: unk, ByteFallback: byteFallback}
	worst := 0.0
	for i, s := range scores {
		if i == 0 || s < worst {
			worst = s
		}
	}
	m.unkScore = worst - unknownPenalty
	ids := make([]int32, len(lex.Tokens))
	for i, t := range lex.Tokens {
		ids[i] = lex.IDs[t] // of equal tokens the last, as in the reference
	}
	m.trie = newTrie(lex.Tokens, ids)
	m.bytes, m.allBytes = lex.ByteTokens()
	return m
}

// A step is the best split up to a position.
type step struct {
	score float64
	from  int32 // None if there is no split yet
	id    int32
}

// Tokenize implements [tokenModel].
func (m *unigram) Tokenize(p Piece, sc *Scratch) {
	s := p.S
	sc.path = sc.path[:0]
	for range len(s) + 1 {
		sc.path = append(sc.path, step{from: none})
	}
	path := sc.path
	reach := func(i, j int, score float64, id int32) {
		if score += path[i].score; path[j].from == none || score > path[j].score {
			path[j] = step{score, int32(i), id}
		}
	}
	for i, n := 0, 0; i < len(s); i += n {
		_, n = decodeRune(s[i:])
		single := false
		for j, node := i, int32(0); j < len(s); {
			if node = m.trie.step(node, s[j]); node < 0 {
				break
			}
			j++
			if id := m.trie.value[node]; id != none {
				reach(i, j, m.Scores[id], id)
				single = single || j == i+n
			}
		}
		if !single {
			reach(i, i+n, m.unkScore, m.Unk)
		}
	}
	// Walk back and join adjacent unknown characters.
	before := len(sc.Toks)
	for j := int32(len(s)); j > 0; {
		st := path[j]
		t := tok{st.id, st.from, j}
		if last := len(sc.Toks) - 1; st.id == m.Unk && last >= before && sc.Toks[last].ID == m.Unk {
			sc.Toks[last].A = t.A
		} else {
			sc.Toks = append(sc.Toks, t)
		}
		j = st.from
	}
	found := sc.Toks[before:]
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	m.fallBack(s, before, sc)
}

// fallBack replaces unknown tokens by bytes, if the model does that. Text that
// is unknown character by character may still be a token as a whole.
func (m *unigram) fallBack(s string, before int, sc *Scratch) {
	out := sc.Toks[:before:before]
	changed := false
	for _, t := range sc.Toks[before:] {
		if t.ID != m.Unk {
			out = append(out, t)
			continue
		}
		text := s[t.A:t.B]
		if id, ok := m.lex.IDs[text]; ok {
			out, changed = append(out, tok{id, t.A, t.B}), true
		} else if m.ByteFallback && m.allBytes {
			changed = true
			for k := range len(text) {
				out = append(out, tok{m.bytes[text[k]], t.A, t.B})
			}
		} else if m.Unk != none {
			out = append(out, t)
		} else {
			changed = true
		}
	}
	if changed {
		sc.Toks = out
	}
}
