package rule

// A Rand generates random numbers for initial values with splitmix64 (Steele,
// Lea and Flood, 2014), so that a seed means the same state on every machine.
// [NewRand] makes one.
type Rand struct{ state uint64 }

// NewRand returns a generator with the given seed.
func NewRand(seed uint64) *Rand { return &Rand{seed} }

// Uint64 returns the next 64 bits.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9E3779B97F4A7C15
	z := r.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Unit returns a number in [0, 1) with 53 random bits.
func (r *Rand) Unit() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Uniform fills dst with numbers in [-scale, scale).
func Uniform[F Float](r *Rand, dst []F, scale float64) {
	for i := range dst {
		dst[i] = F((2*r.Unit() - 1) * scale)
	}
}
