package token

// Added tokens are found before the model sees the text, some in the original,
// some in the normalized text, each with its own rules about adjacent
// characters.

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// An AddedToken is an entry of added_tokens: a text that is found before the model
// sees it.
type AddedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// maxToken is the length of a token in bytes. A text is compared with an added token
// wherever it begins as the token does, and an answer has all of the token for every id.
// The longest known have a few hundred.
const maxToken = 4096

// A finder finds added tokens: the earliest match wins, the longest among those
// at one position.
//
// Their texts are sorted, and a text is compared with the range of those that begin as
// it does: a trie of a file's long tokens would take nine times the file.
type finder struct {
	tokens []AddedToken
	keys   []string // texts of tokens, in order
	values []int32  // index into tokens of each
	roots  [257]int32

	special bool // a control token is among the tokens
}

// newFinder returns a finder of texts[i] as tokens[i]. Of equal texts the first
// wins, special tokens before others. Empty texts are not found.
func newFinder(tokens []AddedToken, texts []string) *finder {
	f := &finder{}
	var keys []string
	for _, special := range []bool{true, false} {
		for i, t := range tokens {
			if t.Special == special && texts[i] != "" {
				f.tokens, keys = append(f.tokens, t), append(keys, texts[i])
				f.special = f.special || special
			}
		}
	}
	for i := range keys {
		f.values = append(f.values, int32(i))
	}
	slices.SortFunc(f.values, func(a, b int32) int { return cmp.Or(strings.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
	f.values = slices.CompactFunc(f.values, func(a, b int32) bool { return keys[a] == keys[b] })
	for _, v := range f.values {
		f.keys = append(f.keys, keys[v])
		f.roots[int(keys[v][0])+1]++
	}
	for c := range 256 {
		f.roots[c+1] += f.roots[c]
	}
	return f
}

// longest returns the end of the longest text that s[i:] begins with, and its token; end
// is -1 if there is none.
func (f *finder) longest(s string, i int) (end int, value int32) {
	end = -1
	at := s[i:]
	lo, hi := int(f.roots[at[0]]), int(f.roots[int(at[0])+1])
	for depth := 0; lo < hi; {
		// All keys of the range begin with at[:depth], and share what first and last share.
		first := f.keys[lo]
		n := depth + shared(first[depth:], f.keys[hi-1][depth:])
		if len(at) < n || at[depth:n] != first[depth:n] {
			break
		}
		if depth = n; len(first) == n {
			end, value = i+n, f.values[lo]
			lo++
		}
		if len(at) == n {
			break
		}
		c := at[n]
		lo += sort.Search(hi-lo, func(k int) bool { return f.keys[lo+k][n] >= c })
		hi = lo + sort.Search(hi-lo, func(k int) bool { return f.keys[lo+k][n] > c })
	}
	return end, value
}

// shared returns how many bytes two strings begin with alike.
func shared(a, b string) int {
	n, i := min(len(a), len(b)), 0
	for i+16 <= n && a[i:i+16] == b[i:i+16] {
		i += 16
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// split calls token for each added token and text for the pieces between them,
// in order. counts, unless nil, says which tokens are some.
func (f *finder) split(p Piece, counts control, text func(Piece), token func(Piece, int32)) {
	if len(f.tokens) == 0 {
		text(p)
		return
	}
	s, done := p.S, 0
	for i := 0; i < len(s); {
		if f.roots[s[i]] == f.roots[int(s[i])+1] {
			i++
			continue
		}
		end, value := f.longest(s, i)
		for counts != nil && end > i && !counts(p, i, end, &f.tokens[value]) {
			if end--; end == i {
				end = -1
			} else {
				end, value = f.longest(s[:end], i)
			}
		}
		if end < 0 {
			i++
			continue
		}
		t := &f.tokens[value]
		a, b := i, end
		i = end
		if t.SingleWord && (wordBefore(s, a) || wordAfter(s, b)) {
			continue
		}
		if t.LStrip {
			for a > done {
				r, n := utf8.DecodeLastRuneInString(s[:a])
				if !isSpaceRune(r) {
					break
				}
				a -= n
			}
			a = max(a, done)
		}
		if t.RStrip {
			b = runOf(s, b, classSpace, false)
		}
		if done < a {
			text(p.Slice(done, a))
		}
		token(p.Slice(a, b), t.ID)
		done = b
	}
	if done < len(s) {
		text(p.Slice(done, len(s)))
	}
}

func wordBefore(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	return n > 0 && classOf(r)&classWord != 0
}

func wordAfter(s string, i int) bool {
	r, n := utf8.DecodeRuneInString(s[i:])
	return n > 0 && classOf(r)&classWord != 0
}
