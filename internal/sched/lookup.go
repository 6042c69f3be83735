package sched

// A lookup finds what followed the last tokens of a sequence when they came before
// in it: prompt look-up decoding (Saxena, 2023), a drafter that costs no model. It
// indexes every gram of a sequence by its hash, in a chain from the last to the
// first, as LZ77 compressors do. Positions further back than its window are
// forgotten, so that its memory is bounded.
type lookup struct {
	heads []int32 // by hash: end of the last gram with it; 0 = none
	prev  []int32 // by end, modulo the window: end of the gram before with the same hash
	end   int     // ends before this one are indexed
}

const (
	gramTokens    = 3       // a shorter match says little
	lookupWindow  = 1 << 15 // positions
	lookupChain   = 24      // earlier grams that are compared
	longestLookup = 32      // a longer match says no more
)

// reset empties the index for a sequence of span tokens. It allocates if no sequence
// before was as long.
func (l *lookup) reset(span int) {
	n := 256
	for n < min(span, lookupWindow) {
		n *= 2
	}
	l.end = gramTokens
	if len(l.heads) < n {
		l.heads, l.prev = make([]int32, n), make([]int32, n)
		return
	}
	clear(l.heads)
}

func gramHash(gram []int32) uint32 {
	h := uint32(0)
	for _, t := range gram[:gramTokens] {
		h = (h ^ uint32(t)) * 0x9e3779b1
		h ^= h >> 15
	}
	return h
}

// find appends to dst what followed the longest match of the last tokens, until its
// capacity is used, and returns the length of the match; 0 = there is none. Of equal
// matches it takes the last. A continuation that reaches the end of the sequence goes
// on with itself, as that of a period does.
func (l *lookup) find(tokens, dst []int32) (draft []int32, match int) {
	n := len(tokens)
	if n <= gramTokens {
		return dst, 0
	}
	mask := uint32(len(l.heads) - 1)
	for ; l.end < n; l.end++ {
		h := &l.heads[gramHash(tokens[l.end-gramTokens:l.end])&mask]
		l.prev[uint32(l.end)&mask], *h = *h, int32(l.end)
	}
	at := 0
	e := int(l.heads[gramHash(tokens[n-gramTokens:])&mask])
	for range lookupChain {
		if e == 0 || n-e >= len(l.prev) {
			break
		}
		if m := commonSuffix(tokens[:e], tokens, longestLookup); m >= gramTokens && m > match {
			at, match = e, m
		}
		next := int(l.prev[uint32(e)&mask])
		if next >= e { // overwritten: it is beyond the window
			break
		}
		e = next
	}
	if match == 0 {
		return dst, 0
	}
	from := len(dst)
	for i := at; len(dst) < cap(dst); i++ {
		if i < n {
			dst = append(dst, tokens[i])
		} else {
			dst = append(dst, dst[from+i-n])
		}
	}
	return dst, match
}

// commonSuffix returns how many tokens at the ends of a and b are equal, at most most.
func commonSuffix(a, b []int32, most int) (n int) {
	most = min(most, len(a), len(b))
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
