package stores

import (
	"math/bits"

	"atenia/quila/internal/weights"
)

// How many rows a suffix has, and how many of them are of two codes.
const (
	Heads  = 8
	ofTwo  = 4
	fields = 21 // bits of a code in a hash
)

// A Multipliers are the odd factors of the hashes, engram.mul of a model file.
type Multipliers [Heads]uint64

// DefaultMultipliers returns those of a fresh model: words of Philox with seed 0
// [R-9.8b].
func DefaultMultipliers() (m Multipliers) {
	w := weights.Stream{Site: weights.InitSite}.Words(2 * Heads)
	for i := range m {
		m[i] = uint64(w[2*i])<<32 | uint64(w[2*i+1]) | 1
	}
	return m
}

// canonical maps the codes of the letters A to Z to those of a to z.
func canonical(code uint32) uint32 {
	if 'A' <= code && code <= 'Z' {
		return code + 'a' - 'A'
	}
	return code
}

// Probes returns the rows of the last codes in a table of 2^size rows. The first n
// of the eight exist: none for fewer than two codes, four for two.
func Probes(codes []uint32, size int, m *Multipliers) (rows [Heads]uint32, n int) {
	for i := range Heads {
		length := 2
		if i >= ofTwo {
			length = 3
		}
		if len(codes) < length {
			return rows, i
		}
		var x uint64
		for _, c := range codes[len(codes)-length:] {
			x = x<<fields + uint64(canonical(c)) + 1
		}
		x ^= x >> 32
		_, low := bits.Mul64(x, m[i])
		rows[i] = uint32(low >> (64 - size))
	}
	return rows, Heads
}
