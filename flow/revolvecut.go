package flow

// revolveCut returns the number of blocks, of n, before the next snapshot if
// slots more may be kept (A. Griewank and A. Walther, Algorithm 799: Revolve,
// 2000).
//
//	│ snapshot                   │ another snapshot         end
//	├── revolveCut(n, slots) ────┼──────── the rest ─────────┤
//	  swept last, with slots       swept first, with slots - 1
//
// With no block run more than t+1 times, s snapshots reach binomial(s+t, t)
// blocks; so the part after the cut must be within reach of one snapshot less,
// and the part before of one run less. 0: no cut is possible.
func revolveCut(n int64, slots int) int64 {
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

// binomial returns n over k.
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
