package parked

import (
	"slices"

	"atenia/grad"
)

// longestSuffix is how many codes before a successor are counted, so that n-grams
// are of 2 to 4 codes [R-10.3b].
const longestSuffix = 3

// A suffix is up to three codes and how many there are.
type suffix struct {
	codes [longestSuffix]uint32
	n     uint8
}

// A follower is a code and how often it came.
type follower struct {
	code  uint32
	count int
}

// Ngrams count what followed the last codes of a context, with the rows of the
// codebook, so that no port asks it.
type Ngrams[F grad.Float] struct {
	book Codebook[F]
	next map[suffix][]follower // by ascending code
}

// NewNgrams counts the n-grams of codes, all of which the codebook has.
func NewNgrams[F grad.Float](codes []uint32, b Codebook[F]) *Ngrams[F] {
	g := &Ngrams[F]{book: b, next: map[suffix][]follower{}}
	for i := range codes {
		for n := 1; n <= min(longestSuffix, i); n++ {
			g.count(suffixOf(codes[i-n:i]), codes[i])
		}
	}
	return g
}

func suffixOf(codes []uint32) (s suffix) {
	s.n = uint8(copy(s.codes[:], codes))
	return s
}

func (g *Ngrams[F]) count(s suffix, code uint32) {
	list := g.next[s]
	i, ok := slices.BinarySearchFunc(list, code, func(f follower, c uint32) int { return int(int64(f.code) - int64(c)) })
	if !ok {
		list = slices.Insert(list, i, follower{code: code})
	}
	list[i].count++
	g.next[s] = list
}

// Query writes the mean row of what followed the longest suffix of codes that came
// before, weighted by count, and returns the length of that suffix. Without one it
// is 0 and dst is zeros, which add nothing.
func (g *Ngrams[F]) Query(dst []F, codes []uint32) int {
	clear(dst)
	for n := min(longestSuffix, len(codes)); n > 0; n-- {
		list := g.next[suffixOf(codes[len(codes)-n:])]
		if len(list) == 0 {
			continue
		}
		sum := 0
		for _, f := range list {
			sum += f.count
			for i, x := range g.book.Row(f.code) {
				dst[i] += F(f.count) * x
			}
		}
		for i := range dst {
			dst[i] /= F(sum)
		}
		return n
	}
	return 0
}
