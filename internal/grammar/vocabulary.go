package grammar

import (
	"bytes"
	"slices"
)

// A Vocabulary is what the tokens of a model write, as a trie. It is immutable
// and safe for concurrent use.
type Vocabulary struct {
	text  [][]byte // by id; nil = writes no text
	ends  []int32  // ids that end an answer
	trims bool     // the first space of an answer is not shown

	// The nodes of the trie in preorder; the first, which is the root, is left out.
	char  []byte
	depth []uint16
	skip  []int32 // the node behind those below
	first []int32 // [nodes+1] of ids, the tokens that end at each node
	ids   []int32
	start [257]int32 // by first byte: its node
	deep  int        // longest token
}

// longestToken bounds the bytes of a token; longer ones are never chosen.
const longestToken = 1 << 12

// NewVocabulary returns the vocabulary of tokens that write the given bytes,
// nil for one that writes none. ends are the tokens that end an answer, whatever
// they write. With trims, the space at the very start of an answer is not
// shown, as of SentencePiece models.
func NewVocabulary(text [][]byte, ends []int32, trims bool) *Vocabulary {
	v := &Vocabulary{text: slices.Clone(text), ends: slices.Clone(ends), trims: trims}
	v.ends = slices.DeleteFunc(v.ends, func(id int32) bool { return id < 0 || int(id) >= len(text) })
	for _, id := range v.ends {
		v.text[id] = nil
	}
	var order []int32
	for id, t := range v.text {
		if len(t) > 0 && len(t) <= longestToken {
			order = append(order, int32(id))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := bytes.Compare(v.text[a], v.text[b]); c != 0 {
			return c
		}
		return int(a - b)
	})
	var open []int32 // nodes of the token before
	var last []byte
	for k, id := range order {
		t := v.text[id]
		if k > 0 && bytes.Equal(t, last) {
			v.ids = append(v.ids, id)
			continue
		}
		common := 0
		for common < len(last) && common < len(t) && last[common] == t[common] {
			common++
		}
		for _, n := range open[common:] {
			v.skip[n] = int32(len(v.char))
		}
		open = open[:common]
		for d := common; d < len(t); d++ {
			open = append(open, int32(len(v.char)))
			v.char, v.depth = append(v.char, t[d]), append(v.depth, uint16(d+1))
			v.skip, v.first = append(v.skip, 0), append(v.first, int32(len(v.ids)))
		}
		v.ids = append(v.ids, id)
		last, v.deep = t, max(v.deep, len(t))
	}
	for _, n := range open {
		v.skip[n] = int32(len(v.char))
	}
	v.first = append(v.first, int32(len(v.ids)))
	for i := range v.start {
		v.start[i] = int32(len(v.char))
	}
	for i := int32(0); int(i) < len(v.char); i = v.skip[i] {
		v.start[v.char[i]] = i
	}
	return v
}

// Size returns the number of ids.
func (v *Vocabulary) Size() int { return len(v.text) }

// words returns the length of a bitset over the ids.
func (v *Vocabulary) words() int { return (len(v.text) + 63) / 64 }

// tokens returns the ids that end at a node.
func (v *Vocabulary) tokens(n int32) []int32 { return v.ids[v.first[n]:v.first[n+1]] }

// child returns the node below n (−1 is the root) for a byte.
func (v *Vocabulary) child(n int32, c byte) (int32, bool) {
	if n < 0 {
		i := v.start[c]
		return i, int(i) < len(v.char)
	}
	for i := n + 1; i < v.skip[n]; i = v.skip[i] {
		if v.char[i] == c {
			return i, true
		}
	}
	return 0, false
}

// writes reports whether one token writes the byte alone.
func (v *Vocabulary) writes(c byte) bool {
	n, ok := v.child(-1, c)
	return ok && len(v.tokens(n)) > 0
}

// shortcuts returns where one token writes several bytes of a net's fixed texts.
func (v *Vocabulary) shortcuts(n *net) []shortcut {
	const longest = 24 // bytes; more would save little
	var list []shortcut
	for i := range n.nodes {
		at, in := int32(i), int32(-1)
		for range longest {
			x := &n.nodes[at]
			if x.kind != reads || len(x.edges) != 1 || x.edges[0].lo != x.edges[0].hi {
				break
			}
			var ok bool
			if in, ok = v.child(in, x.edges[0].lo); !ok {
				break
			}
			at = x.edges[0].to
			if len(v.tokens(in)) > 0 {
				list = append(list, shortcut{int32(i), at})
			}
		}
	}
	return list
}
