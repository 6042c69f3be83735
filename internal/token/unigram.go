package token

// The unigram language model (Kudo, arXiv:1804.10959): of all ways to cut a
// text into pieces of the vocabulary, the one with the highest sum of scores.

// unknownPenalty is how far below the worst score an unknown character lies.
const unknownPenalty = 10

type unigram struct {
	lex          *lexicon
	scores       []float64 // by id
	trie         *trie
	unk          int32 // or none
	unkScore     float64
	byteFallback bool
	bytes        [256]int32
	allBytes     bool
}

// newUnigram completes a model whose lexicon and scores are set.
func newUnigram(lex *lexicon, scores []float64, unk int32, byteFallback bool) *unigram {
	m := &unigram{lex: lex, scores: scores, unk: unk, byteFallback: byteFallback}
	worst := 0.0
	for i, s := range scores {
		if i == 0 || s < worst {
			worst = s
		}
	}
	m.unkScore = worst - unknownPenalty
	ids := make([]int32, len(lex.tokens))
	for i, t := range lex.tokens {
		ids[i] = lex.ids[t] // of equal tokens the last, as in the reference
	}
	m.trie = newTrie(lex.tokens, ids)
	m.bytes, m.allBytes = lex.byteTokens()
	return m
}

// A step is the best way to reach a position.
type step struct {
	score float64
	from  int32 // none if there is no way yet
	id    int32
}

func (m *unigram) tokenize(p piece, sc *scratch) {
	s := p.s
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
				reach(i, j, m.scores[id], id)
				single = single || j == i+n
			}
		}
		if !single {
			reach(i, i+n, m.unkScore, m.unk)
		}
	}
	// Walk back, joining neighbouring unknown characters.
	before := len(sc.toks)
	for j := int32(len(s)); j > 0; {
		st := path[j]
		t := tok{st.id, st.from, j}
		if last := len(sc.toks) - 1; st.id == m.unk && last >= before && sc.toks[last].id == m.unk {
			sc.toks[last].a = t.a
		} else {
			sc.toks = append(sc.toks, t)
		}
		j = st.from
	}
	found := sc.toks[before:]
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	m.fallBack(s, before, sc)
}

// fallBack writes unknown tokens as bytes, where the model does that. Text
// that is unknown character by character may still be a token as a whole.
func (m *unigram) fallBack(s string, before int, sc *scratch) {
	out := sc.toks[:before:before]
	changed := false
	for _, t := range sc.toks[before:] {
		if t.id != m.unk {
			out = append(out, t)
			continue
		}
		text := s[t.a:t.b]
		if id, ok := m.lex.ids[text]; ok {
			out, changed = append(out, tok{id, t.a, t.b}), true
		} else if m.byteFallback && m.allBytes {
			changed = true
			for k := range len(text) {
				out = append(out, tok{m.bytes[text[k]], t.a, t.b})
			}
		} else if m.unk != none {
			out = append(out, t)
		} else {
			changed = true
		}
	}
	if changed {
		sc.toks = out
	}
}
