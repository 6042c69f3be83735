package weights

import (
	"math"
	"math/bits"
)

// A Site is what a number is for.
type Site uint32

// Sites of [R-0.4b], and of the second part [R-0.4c].
const (
	CM       Site = 1 // second step of the consistency model
	Noise    Site = 2 // step 11
	Fork     Site = 3
	Decode   Site = 4
	InitSite Site = 5 // initial values
	Corpus   Site = 6 // toy corpus; the tick is the line
	Play     Site = 7
	Growth   Site = 8
)

// A Stream is the sequence of one seed, neuron, tick and site.
type Stream struct {
	Seed   uint64
	Neuron uint32
	Tick   uint64
	Site   Site
}

// Philox is one block of Philox-4x32-10.
func Philox(key [2]uint32, ctr [4]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, ctr[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, ctr[2])
		ctr = [4]uint32{hi1 ^ ctr[1] ^ key[0], lo1, hi0 ^ ctr[3] ^ key[1], lo0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return ctr
}

// Block returns words 4b to 4b+3 of the sequence.
func (s Stream) Block(b uint32) [4]uint32 {
	return Philox([2]uint32{uint32(s.Seed), uint32(s.Seed >> 32)},
		[4]uint32{b | uint32(s.Tick>>32&0xFFFF)<<16, uint32(s.Site), s.Neuron, uint32(s.Tick)})
}

// Words returns the first n words.
func (s Stream) Words(n int) []uint32 {
	out := make([]uint32, 0, n+3)
	for b := uint32(0); len(out) < n; b++ {
		w := s.Block(b)
		out = append(out, w[:]...)
	}
	return out[:n]
}

// Choice maps a word to one of n choices.
func Choice(word uint32, n int) int { return int(uint64(word) * uint64(n) >> 32) }

// Normal fills dst with standard normals, by Box and Muller on pairs of words.
func (s Stream) Normal(dst []float64) {
	for i := 0; i < len(dst); i += 2 {
		w := s.Block(uint32(i / 4))
		x, y := w[i%4], w[i%4+1]
		r := math.Sqrt(-2 * math.Log((float64(x)+1)*0x1p-32))
		sin, cos := math.Sincos(2 * math.Pi * float64(y) * 0x1p-32)
		dst[i] = r * cos
		if i+1 < len(dst) {
			dst[i+1] = r * sin
		}
	}
}
