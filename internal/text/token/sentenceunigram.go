package token

// The unigram model as SentencePiece 0.2.3 computes it: sums of scores have 32
// bits and begin anew before they grow too large, and user-defined pieces win.

// sentenceUnigram is the unigram model of SentencePiece.
type sentenceUnigram struct {
	lex      *lexicon
	Scores   []float32
	types    []int32
	trie     *trie // of normal, user-defined and unused pieces
	Unk      int32
	bytes    [256]int32
	fallBack bool

	unkScore float32
}

func newSentenceUnigram(lex *lexicon, scores []float32, types []int32, unk int32, fallBack bool) *sentenceUnigram {
	m := &sentenceUnigram{lex: lex, Scores: scores, types: types, Unk: unk, fallBack: fallBack}
	m.bytes, _ = lex.ByteTokens()
	var keys []string
	var ids []int32
	worst, any := float32(0), false
	for id, kind := range types {
		switch kind {
		case TypeNormal:
			if !any || scores[id] < worst {
				worst, any = scores[id], true
			}
			fallthrough
		case TypeUserDefined, TypeUnused:
			keys, ids = append(keys, lex.Tokens[id]), append(ids, int32(id))
		}
	}
	m.unkScore = worst - unknownPenalty
	m.trie = newTrie(keys, ids)
	return m
}

// largestScore is the sum at which the reference begins anew.
const largestScore = 100000

// Tokenize implements [tokenModel].
func (m *sentenceUnigram) Tokenize(p Piece, sc *Scratch) {
	s := p.S
	sc.path = sc.path[:0]
	for range len(s) + 1 {
		sc.path = append(sc.path, step{from: none})
	}
	path, frontier := sc.path, 0 // frontier: the last position reached; scores are numbers of 32 bits
	reach := func(i, j int, score float32, id int32) {
		frontier = max(frontier, j)
		if score += float32(path[i].score); path[j].from == none || score > float32(path[j].score) {
			path[j] = step{float64(score), int32(i), id}
		}
	}
	for i, n := 0, 0; i < len(s); i += n {
		_, n = decodeRune(s[i:])
		if offset := path[i].score; offset < -largestScore || offset > largestScore {
			for k := i; k <= frontier; k++ {
				if k == i || path[k].from != none {
					path[k].score = float64(float32(path[k].score) - float32(offset))
				}
			}
		}
		single := false
		for j, node := i, int32(0); j < len(s); {
			if node = m.trie.step(node, s[j]); node < 0 {
				break
			}
			j++
			id := m.trie.value[node]
			if id == none || m.types[id] == TypeUnused {
				continue
			}
			score := m.Scores[id]
			if m.types[id] == TypeUserDefined {
				score = float32(0.1 * float64(j-i-1))
			}
			reach(i, j, score, id)
			single = single || j == i+n
		}
		if !single {
			reach(i, i+n, m.unkScore, m.Unk)
		}
	}
	before := len(sc.Toks)
	for j := int32(len(s)); j > 0; {
		st := path[j]
		sc.Toks = append(sc.Toks, tok{st.id, st.from, j})
		j = st.from
	}
	found := sc.Toks[before:]
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	if m.fallBack {
		m.toBytes(s, before, sc)
	} else {
		sc.joinUnknown(before, m.Unk)
	}
}

// toBytes replaces unknown characters by bytes.
func (m *sentenceUnigram) toBytes(s string, before int, sc *Scratch) {
	var out []tok
	for k, t := range sc.Toks[before:] {
		if t.ID == m.Unk && out == nil {
			out = append(out, sc.Toks[before:before+k]...)
			if out == nil {
				out = []tok{}
			}
		}
		switch {
		case out == nil:
		case t.ID != m.Unk:
			out = append(out, t)
		default:
			for i := t.A; i < t.B; i++ {
				out = append(out, tok{m.bytes[s[i]], t.A, t.B})
			}
		}
	}
	if out != nil {
		sc.Toks = append(sc.Toks[:before], out...)
	}
}

// joinUnknown joins adjacent unknown tokens.
func (sc *Scratch) joinUnknown(before int, unk int32) {
	out := sc.Toks[:before]
	for _, t := range sc.Toks[before:] {
		if last := len(out) - 1; t.ID == unk && last >= before && out[last].ID == unk {
			out[last].B = t.B
			continue
		}
		out = append(out, t)
	}
	sc.Toks = out
}
