package token

// Digits in groups of three from the right. The expressions look ahead to the
// end of the number at each group, which is quadratic in its length; these
// segmenters find the end once.

// A segmenter calls yield for the matches in s and the stretches between them, in
// order.
type segmenter func(s string, yield func(i, j int, match bool))

// runs maps expressions to their segmenters.
var runs = map[string]segmenter{
	reGroups:       groups{digit: isDecimal, boundary: true}.segments,
	reNumberGroups: groups{digit: IsNumeric}.segments,
	rePlaces:       groups{digit: isDecimal, places: true}.segments,
}

// groups finds the groups of numbers.
type groups struct {
	digit    func(rune) bool
	boundary bool // only numbers that no letter follows
	places   bool // only the places before full groups, as empty matches
}

func (g groups) segments(s string, yield func(i, j int, match bool)) {
	prev := 0
	found := func(i, j int) {
		if prev < i {
			yield(prev, i, false)
		}
		yield(i, j, true)
		prev = j
	}
	for i := 0; i < len(s); {
		end, n := i, 0
		for end < len(s) {
			r, size := DecodeRune(s[end:])
			if !g.digit(r) {
				break
			}
			end += size
			n++
		}
		if n == 0 {
			_, size := DecodeRune(s[i:])
			i += size
			continue
		}
		if !g.boundary || atBoundary.holds(s, end) {
			g.cut(s, i, n, found)
		}
		i = end
	}
	if prev < len(s) {
		yield(prev, len(s), false)
	}
}

// cut reports the groups of the number of n digits at i.
func (g groups) cut(s string, i, n int, found func(i, j int)) {
	start := i
	for ; n > 0; n-- {
		if g.places && n%3 == 0 {
			found(i, i)
		}
		_, size := DecodeRune(s[i:])
		i += size
		if !g.places && n%3 == 1 {
			found(start, i)
			start = i
		}
	}
}
