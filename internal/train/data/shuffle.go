package data

// An order of n items that is computed rather than stored: a permutation of 0 …
// n−1 as a function of the position. It is a Feistel network of four rounds over
// the smallest even number of bits that holds n, iterated until the result is
// below n: at most four times on average (format-preserving encryption by cycle
// walking, Black and Rogaway, CT-RSA 2002).

import "math/bits"

// The streams of a seed, to make derived values independent.
const (
	heldoutStream = iota + 1
	orderStream
	shiftStream
)

type shuffle struct {
	n    uint64
	half uint // bits of each half
	keys [4]uint64
}

// newShuffle returns the order for a seed and further numbers.
func newShuffle(n uint64, numbers ...uint64) shuffle {
	s := shuffle{n: n, half: uint(bits.Len64(max(n, 2)-1)+1) / 2}
	for i := range s.keys {
		s.keys[i] = mix(hash(numbers...) + uint64(i))
	}
	return s
}

// at returns the item at position i, below n.
func (s *shuffle) at(i uint64) uint64 {
	mask := uint64(1)<<s.half - 1
	for {
		l, r := i>>s.half, i&mask
		for _, k := range s.keys {
			l, r = r, l^mix(r^k)&mask
		}
		if i = l<<s.half | r; i < s.n {
			return i
		}
	}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash combines several numbers into one.
func hash(numbers ...uint64) uint64 {
	h := uint64(0)
	for _, x := range numbers {
		h = mix(h ^ mix(x))
	}
	return h
}
