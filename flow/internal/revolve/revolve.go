// Package revolve says where a stream is cut when only so many of its states
// can be kept (A. Griewank and A. Walther, Algorithm 799: Revolve, 2000).
//
//	│ state kept                 │ one more state           end
//	├──────── Cut(n, slots) ─────┼──────── the rest ─────────┤
//	  gone back over with slots    with slots - 1, first
package revolve

// Cut is the number of blocks of n before the next snapshot, when there may be
// slots more: with no block run more than t+1 times, s snapshots reach
// binomial(s+t, t) blocks, so the part after the cut must be within reach of one
// snapshot less, and the part before of one run less. 0: there is nothing to cut.
func Cut(n int64, slots int) int64 {
	if n == 1 {
		return 0
	}
	if slots == 0 {
		return n - 1
	}
	t := int64(1)
	for binomial(int64(slots)+1+t, t) < n {
		t++
	}
	return max(1, n-binomial(int64(slots)+t, t), binomial(int64(slots)+t-1, t-2))
}

// binomial is n over k.
func binomial(n, k int64) int64 {
	b := int64(1)
	for i := range k {
		b = b * (n - i) / (i + 1)
		if b > 1<<40 {
			return 1 << 40
		}
	}
	return b
}
