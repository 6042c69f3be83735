package token

// Expressions that look to the end of a number, or of white space, at each of its
// parts, which is quadratic in its length. These segmenters find the end once.

// Digits in groups of three from the right. The expressions look ahead to the
// end of the number at each group, which is quadratic in its length; these
// segmenters find the end once.

// A segmenter calls yield for the matches in s and the stretches between them, in
// order.
type segmenter func(s string, yield func(i, j int, match bool))

// runs maps expressions to their segmenters.
var runs = map[string]segmenter{
	reGroups:       groups{digit: isDecimal, boundary: true}.segments,
	reNumberGroups: groups{digit: isNumeric}.segments,
	rePlaces:       groups{digit: isDecimal, places: true}.segments,
	reJais2:        powersOfSpace,
}

// groups finds digits in groups of three from the right.
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
			r, size := decodeRune(s[end:])
			if !g.digit(r) {
				break
			}
			end += size
			n++
		}
		if n == 0 {
			_, size := decodeRune(s[i:])
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
		_, size := decodeRune(s[i:])
		i += size
		if !g.places && n%3 == 1 {
			found(start, i)
			start = i
		}
	}
}

// wordOrMark is what an expression of the cl100k line matches before it comes to
// white space.
var wordOrMark = anyOf(contraction(true), ledBy(classL|classN, classL), upTo(classN, 3), spaced(classSpace|classN|classL, true, "\r\n"))

// powersOfSpace is reJais2: white space is cut after its last line end, and then
// into powers of two.
func powersOfSpace(s string, yield func(i, j int, match bool)) {
	prev, end, line, left := 0, 0, 0, 0 // of the white space at i: its end, the end of its last line, its characters
	for i := 0; i < len(s); {
		j := wordOrMark(s, i)
		if j < 0 && i >= end {
			if end, line, left = i, 0, 0; end < len(s) {
				for end < len(s) {
					r, n := decodeRune(s[end:])
					if !isSpaceRune(r) {
						break
					}
					if end += n; isNewline(r) {
						line, left = end, -1
					}
					left++
				}
			}
		}
		switch {
		case j >= 0: // maybe with the last space in front
		case line > i:
			j = line
		case i < end:
			j = i
			for range spacesOf(left, end == len(s)) {
				_, n := decodeRune(s[j:])
				j, left = j+n, left-1
			}
		default:
			_, n := decodeRune(s[i:])
			i += n
			continue
		}
		if prev < i {
			yield(prev, i, false)
		}
		yield(i, j, true)
		prev, i = j, j
	}
	if prev < len(s) {
		yield(prev, len(s), false)
	}
}

// spacesOf returns how many of n spaces belong together: a power of two that
// something follows, or the end of the text.
func spacesOf(n int, last bool) int {
	if !last { // the last one stays for what follows
		n = max(n-1, 1)
	}
	for k := 512; k > 2; k /= 2 {
		if n >= k {
			return k
		}
	}
	return min(n, 2)
}
