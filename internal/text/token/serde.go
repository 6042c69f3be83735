package token

// Numbers as serde_json reads them. The reference library reads scores with it,
// and without its option float_roundtrip it does not round correctly: digits
// beyond 64 bits are dropped, and the power of ten is applied with a rounding of
// its own. Two splits of a text may have the same score with one reading and
// not with the other.

import (
	"math"
	"strconv"
	"strings"
	"sync"
)

// powersOfTen are 1 to 1e308, correctly rounded (math.Pow10 is not).
var powersOfTen = sync.OnceValue(func() (t [309]float64) {
	for i := range t {
		t[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return t
})

// serdeFloat returns the value of a JSON number; ok is false if s is none or is
// too large.
func serdeFloat(s string) (x float64, ok bool) {
	s, negative := strings.CutPrefix(s, "-")
	digits := func() (run string) {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		run, s = s[:n], s[n:]
		return run
	}
	// add appends the digits to the significand and returns how many fit. Once one
	// does not, the rest of its run is dropped.
	significand := uint64(0)
	add := func(run string) int {
		for i := range len(run) {
			d := uint64(run[i] - '0')
			if significand > (math.MaxUint64-d)/10 {
				return i
			}
			significand = significand*10 + d
		}
		return len(run)
	}
	whole := digits()
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return 0, false
	}
	exponent := len(whole) - add(whole)
	if rest, ok := strings.CutPrefix(s, "."); ok {
		s = rest
		part := digits()
		if part == "" {
			return 0, false
		}
		exponent -= add(part)
	}
	if s != "" {
		if s[0] != 'e' && s[0] != 'E' {
			return 0, false
		}
		s = s[1:]
		less := strings.HasPrefix(s, "-")
		if less || strings.HasPrefix(s, "+") {
			s = s[1:]
		}
		run := digits()
		if run == "" || s != "" {
			return 0, false
		}
		e, err := strconv.ParseInt(run, 10, 32)
		switch {
		case err != nil && significand != 0 && !less:
			return 0, false
		case err != nil:
			significand = 0
		case less:
			exponent -= int(e)
		default:
			exponent += int(e)
		}
	}
	if x, ok = scale(float64(significand), exponent); negative {
		x = -x
	}
	return x, ok
}

// scale returns x times ten to the given power, rounded as serde_json does.
func scale(x float64, exponent int) (float64, bool) {
	pow := powersOfTen()
	for {
		switch {
		case exponent >= 0 && exponent < len(pow):
			x *= pow[exponent]
			return x, !math.IsInf(x, 0)
		case exponent < 0 && -exponent < len(pow):
			return x / pow[-exponent], true
		case x == 0:
			return 0, true
		case exponent >= 0:
			return 0, false
		}
		x /= 1e308
		exponent += 308
	}
}

// publishedScore is the score that the reference library reads for a number of 32
// bits: tokenizer.json holds it in the shortest form for 64.
func publishedScore(s float32) float64 {
	x, ok := serdeFloat(strconv.FormatFloat(float64(s), 'e', -1, 64))
	if !ok { // infinite, or not a number
		return float64(s)
	}
	return x
}
