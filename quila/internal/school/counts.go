package school

import "math"

// order is the length of the longest sequences that a [kneserNey] counts: a
// symbol and four before it.
const order = 5

// A baselineContext is what is known of the symbols after a sequence.
type baselineContext struct {
	next  map[byte]uint32 // how often; below the highest order, after how many symbols
	total uint32
}

// A kneserNey is an interpolated Kneser–Ney model of bytes with one discount an
// order: n₁/(n₁+2n₂), where n_k sequences occur k times.
type kneserNey struct {
	symbols  int // of the uniform distribution at the bottom
	contexts [order]map[string]*baselineContext
	discount [order]float64
}

// newKneserNey counts a text over an alphabet of so many symbols.
func newKneserNey(text []byte, symbols int) *kneserNey {
	k := &kneserNey{symbols: symbols}
	for n := range k.contexts {
		k.contexts[n] = map[string]*baselineContext{}
	}
	// The highest order counts occurrences. An order below counts the symbols
	// that a sequence of it follows, once each.
	seen := map[string]struct{}{}
	for i := range text {
		for n := min(order-1, i); n >= 0; n-- {
			if n < order-1 && i > n {
				longer := string(text[i-n-1 : i+1])
				if _, ok := seen[longer]; ok {
					break // and so have all its endings been
				}
				seen[longer] = struct{}{}
			}
			k.count(n, text[i-n:i], text[i])
		}
	}
	for n := range k.discount {
		k.discount[n] = k.discountOf(n)
	}
	return k
}

func (k *kneserNey) count(n int, before []byte, c byte) {
	x := k.contexts[n][string(before)]
	if x == nil {
		x = &baselineContext{next: map[byte]uint32{}}
		k.contexts[n][string(before)] = x
	}
	x.next[c]++
	x.total++
}

// discountOf is the usual estimate, or a half where it is not defined.
func (k *kneserNey) discountOf(n int) float64 {
	var once, twice float64
	for _, x := range k.contexts[n] {
		for _, c := range x.next {
			switch c {
			case 1:
				once++
			case 2:
				twice++
			}
		}
	}
	if once == 0 || twice == 0 {
		return .5
	}
	return once / (once + 2*twice)
}

// Probability is that of a symbol after a text.
func (k *kneserNey) Probability(before []byte, c byte) float64 {
	p := 1 / float64(k.symbols)
	for n := 0; n <= min(order-1, len(before)); n++ {
		x := k.contexts[n][string(before[len(before)-n:])]
		if x == nil {
			break // longer contexts are not known either
		}
		d, total := k.discount[n], float64(x.total)
		p = (math.Max(float64(x.next[c])-d, 0) + d*float64(len(x.next))*p) / total
	}
	return p
}

// Bits is the mean of −log2 p over the symbols of a text from the given place
// on, and for every kind of symbol if kinds are given.
func (k *kneserNey) Bits(text []byte, from int, each func(i int, bits float64)) float64 {
	if from >= len(text) {
		return 0
	}
	var sum float64
	for i := from; i < len(text); i++ {
		b := -math.Log2(k.Probability(text[max(0, i-order+1):i], text[i]))
		sum += b
		if each != nil {
			each(i, b)
		}
	}
	return sum / float64(len(text)-from)
}
