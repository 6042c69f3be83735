package graph

import (
	"fmt"
	"math/bits"
)

// The operations on positive fractions in lowest terms are exact or report
// overflow.

// String returns n or n/d.
func (r Rat) String() string {
	if r.Den == 1 {
		return fmt.Sprint(r.Num)
	}
	return fmt.Sprintf("%d/%d", r.Num, r.Den)
}

// Float returns the nearest float64.
func (r Rat) Float() float64 { return float64(r.Num) / float64(r.Den) }

// Frames returns how many frames or tokens a port of this rate moves in base
// frames, and whether that is a whole number below 2³¹.
func (r Rat) Frames(base int) (int, bool) {
	if int64(base)%r.Den != 0 {
		return 0, false
	}
	n, ok := product(int64(base)/r.Den, r.Num)
	return int(n), ok && n <= maxInteger
}

func gcd[T int | int64](a, b T) T {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo < 1<<63
}

// reduced returns n/d in lowest terms.
func reduced(n, d int64) Rat {
	g := gcd(n, d)
	return Rat{n / g, d / g}
}

// times returns r·n/d, or false when it needs more than 63 bits.
func (r Rat) times(n, d int64) (Rat, bool) {
	g := gcd(n, d)
	n, d = n/g, d/g
	a, b := gcd(r.Num, d), gcd(n, r.Den)
	num, ok := product(r.Num/a, n/b)
	den, fits := product(r.Den/b, d/a)
	return Rat{num, den}, ok && fits
}
