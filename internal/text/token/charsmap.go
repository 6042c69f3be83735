package token

// The precompiled normalizer of SentencePiece: a double-array trie over byte
// strings whose values are offsets of NUL-terminated replacements. Layout:
// uint32 size of the trie in bytes, the trie as uint32 units, the texts.

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// A charsmap replaces grapheme clusters or characters.
type charsmap struct {
	Blob  []byte // as stored
	units []uint32
	texts string
}

// longestReplacement bounds what a character can become. The longest in use has 33
// bytes.
const longestReplacement = 1 << 10

// newCharsmap reads a precompiled_charsmap. ok is false if the sizes are
// inconsistent, or the texts are not UTF-8 or too long.
func newCharsmap(blob []byte) (m *charsmap, ok bool) {
	if len(blob) < 4 {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(blob)) / 4
	rest := blob[4:]
	if n < 1 || n > len(rest)/4 || !utf8.Valid(rest[4*n:]) {
		return nil, false
	}
	for text := range strings.SplitSeq(string(rest[4*n:]), "\x00") {
		if len(text) > longestReplacement {
			return nil, false
		}
	}
	m = &charsmap{Blob: blob, units: make([]uint32, n), texts: string(rest[4*n:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	return m, true
}

func unitOffset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

// lookup returns the replacement of the shortest, not the longest, prefix of key
// that is in the map, like the reference.
func (m *charsmap) lookup(key string) (string, bool) {
	pos := unitOffset(m.units[0])
	for i := range len(key) {
		c := uint32(key[i])
		pos ^= c
		if c == 0 || pos >= uint32(len(m.units)) {
			return "", false
		}
		u := m.units[pos]
		if u&(1<<31|0xff) != c {
			return "", false
		}
		pos ^= unitOffset(u)
		if u>>8&1 == 0 {
			continue
		}
		if pos >= uint32(len(m.units)) {
			return "", false
		}
		at := int(m.units[pos] & (1<<31 - 1))
		if at > len(m.texts) {
			return "", false
		}
		end := at
		for end < len(m.texts) && m.texts[end] != 0 {
			end++
		}
		return m.texts[at:end], true
	}
	return "", false
}

// Normalize replaces clusters of up to five bytes, and the characters of longer
// ones.
func (m *charsmap) Normalize(p Piece) Piece {
	if m.Blob == nil {
		return p
	}
	cs, modified := make([]change, 0, len(p.S)), false
	replace := func(old, text string) {
		modified = true
		before := len(cs)
		for _, r := range text {
			cs = append(cs, change{r: r})
		}
		switch more := len(cs) - before - utf8.RuneCountInString(old); {
		case more > 0:
			for i := len(cs) - more; i < len(cs); i++ {
				cs[i].n = 1
			}
		case more < 0 && len(cs) > 0:
			cs[len(cs)-1].n += more
		}
	}
	for i := 0; i < len(p.S); {
		end := graphemeEnd(p.S, i)
		cluster := p.S[i:end]
		i = end
		// Only short clusters are looked up as a whole, as in the reference.
		if len(cluster) < 6 {
			if text, ok := m.lookup(cluster); ok {
				replace(cluster, text)
				continue
			}
		}
		for len(cluster) > 0 {
			// An invalid byte has length one, although its replacement character has
			// three.
			r, n := utf8.DecodeRuneInString(cluster)
			part := cluster[:n]
			cluster = cluster[n:]
			if text, ok := m.lookup(part); ok {
				replace(part, text)
			} else {
				cs = append(cs, change{r: r})
			}
		}
	}
	if !modified {
		return p
	}
	w := rewrite(p)
	for _, c := range cs {
		w.put(c.r, c.n)
	}
	return w.piece()
}
