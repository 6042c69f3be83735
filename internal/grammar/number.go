package grammar

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Bounds of what numbers are written with.
const (
	wholeDigits    = 18
	fractionDigits = 15
)

// number returns the expression of the numbers that f allows.
func (c *compiler) number(f *flat) (*expr, error) {
	e, err := c.bounded(f)
	if err != nil || !f.picks() {
		return e, err
	}
	n := &nfa{budget: c.budget}
	end, err := n.add(nfaNode{accepts: true})
	if err != nil {
		return nil, err
	}
	start, err := n.expr(e, end)
	if err != nil {
		return nil, err
	}
	d, err := n.set(start)
	if err != nil {
		return nil, fail(f.all[0], "%v", err)
	}
	and := func(set *dfa, err error) error {
		if err == nil {
			d, err = d.and(c.budget, set)
		}
		return err
	}
	if f.types&tInteger == 0 {
		if err := and(matching(c.budget, `\.\d*[1-9]`)); err != nil {
			return nil, err
		}
	}
	for _, s := range f.steps {
		m, err := multiples(s.x)
		if err == nil && s.not {
			m = m.not()
		}
		if err := and(m, err); err != nil {
			return nil, fail(s.x, "%v", err)
		}
	}
	for _, x := range f.except {
		if r, ok := x.number(); ok {
			one, err := spellings(c.budget, r)
			if err != nil {
				return nil, fail(x, "%v", err)
			}
			if err := and(one.not(), nil); err != nil {
				return nil, fail(x, "%v", err)
			}
		}
	}
	return c.emit(d, false, nil), nil
}

// picks reports whether more than bounds tells which numbers are allowed.
func (f *flat) picks() bool {
	return len(f.steps) > 0 || f.types&tInteger == 0 || slices.ContainsFunc(f.except, func(x *value) bool { return x.kind == '0' })
}

// spellings returns the set of the numerals of a number.
func spellings(b *Budget, r *big.Rat) (*dfa, error) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(r.FloatString(2*fractionDigits), "-"), ".")
	sign := ""
	switch {
	case r.Sign() == 0:
		sign = "-?"
	case r.Sign() < 0:
		sign = "-"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return matching(b, "^"+sign+whole+`(\.0*)?$`)
	}
	return matching(b, "^"+sign+whole+`\.`+fraction+"0*$")
}

// multiples returns the set of the numerals of multiples of a number, as long as they have
// no exponent: the states are remainders, and how many digits followed the point.
func multiples(x *value) (*dfa, error) {
	const most = maxDFA / 4
	m, _ := x.number()
	places := 0
	for ten := big.NewRat(10, 1); !m.IsInt(); places++ {
		if m = new(big.Rat).Mul(m, ten); places > fractionDigits {
			return nil, errors.New("multiples of a number without an end are not supported")
		}
	}
	if m.Num().Cmp(big.NewInt(int64(most/(places+2)))) > 0 {
		return nil, fmt.Errorf("multiples of a number with more than %d steps are not supported", most)
	}
	mod := int(m.Num().Int64())
	id := func(rest, after int) int32 { return int32(2 + rest*(places+2) + after) } // after = digits behind the point, and one for the point
	d := &dfa{make([]dfaState, 2+mod*(places+2)+1)}
	from := func(rest, after, to int) (edges []dfaEdge) {
		for c := range 10 {
			r := rune('0' + c)
			if after == places+1 {
				if c == 0 {
					edges = append(edges, dfaEdge{span{r, r}, id(rest, after)})
				}
				continue
			}
			edges = append(edges, dfaEdge{span{r, r}, id((rest*10+c)%mod, to)})
		}
		return edges
	}
	for rest := range mod {
		for after := range places + 2 {
			s := &d.states[id(rest, after)]
			scaled := rest
			for range places - max(after-1, 0) {
				scaled = scaled * 10 % mod
			}
			s.accepts = scaled == 0
			to := after
			if after > 0 {
				to++
			} else {
				s.edges = append(s.edges, dfaEdge{span{'.', '.'}, id(rest, 1)})
			}
			s.edges = append(s.edges, from(rest, after, to)...)
		}
	}
	d.states[0].edges = append([]dfaEdge{{span{'-', '-'}, 1}}, from(0, 0, 0)...)
	d.states[1].edges = from(0, 0, 0)
	return d.minimal(), nil
}

// bounded returns the expression of the numbers within f's bounds.
func (c *compiler) bounded(f *flat) (*expr, error) {
	whole := f.types&tNumber == 0
	if f.low == nil && f.high == nil && !f.picks() {
		if whole {
			return c.use("integer"), nil
		}
		return c.use("number"), nil
	}
	end := new(big.Rat).SetInt(new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(wholeDigits), nil), big.NewInt(1)))
	low, high, above, below := f.low, f.high, f.above, f.below
	if neg := new(big.Rat).Neg(end); low == nil || low.Cmp(neg) < 0 {
		low, above = neg, false
	}
	if high == nil || high.Cmp(end) > 0 {
		high, below = end, false
	}
	if whole {
		return integers(ceil(low, above), floor(high, below)), nil
	}
	for _, v := range f.all {
		for _, k := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
			if x := v.under[k]; x != nil {
				if r, _ := x.number(); r != nil && !r.IsInt() && len(decimals(r)) >= fractionDigits {
					return nil, fail(x, "want at most %d digits after the point", fractionDigits-1)
				}
			}
		}
	}
	out := alt()
	switch cmp := low.Cmp(high); {
	case cmp > 0 || cmp == 0 && (above || below):
		return out, nil
	}
	zero := new(big.Rat)
	if low.Sign() < 0 {
		to, open := zero, false
		if high.Sign() < 0 {
			to, open = new(big.Rat).Neg(high), below
		} else if high.Sign() == 0 {
			open = below
		}
		out.subs = append(out.subs, seq(text("-"), reals(to, open, new(big.Rat).Neg(low), above)))
	}
	if high.Sign() >= 0 {
		from, open := zero, false
		if low.Sign() >= 0 {
			from, open = low, above
		}
		out.subs = append(out.subs, reals(from, open, high, below))
	}
	return out, nil
}

// ceil returns the least integer of at least r, or above r.
func ceil(r *big.Rat, above bool) *big.Int {
	n := floor(new(big.Rat).Neg(r), above)
	return n.Neg(n)
}

// floor returns the largest integer of at most r, or below r.
func floor(r *big.Rat, below bool) *big.Int {
	n := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, the denominator is above 0
	if below && r.IsInt() {
		n.Sub(n, big.NewInt(1))
	}
	return n
}

// integers returns the expression of the integers from a to b.
func integers(a, b *big.Int) *expr {
	out := alt()
	if a.Cmp(b) > 0 {
		return out
	}
	one := big.NewInt(1)
	if a.Sign() < 0 {
		from := one
		if b.Sign() < 0 {
			from = new(big.Int).Neg(b)
		}
		out.subs = append(out.subs, seq(text("-"), naturals(from, new(big.Int).Neg(a))))
	}
	if b.Sign() >= 0 {
		from := new(big.Int)
		if a.Sign() > 0 {
			from = a
		}
		out.subs = append(out.subs, naturals(from, b))
	}
	return out
}

// naturals returns the expression of the integers from a to b, which are not
// negative, by number of digits.
func naturals(a, b *big.Int) *expr {
	out := alt()
	if a.Cmp(b) > 0 {
		return out
	}
	lo, hi := a.String(), b.String()
	for n := len(lo); n <= len(hi); n++ {
		x, y := lo, hi
		if n > len(lo) {
			x = "1" + strings.Repeat("0", n-1)
		}
		if n < len(hi) {
			y = strings.Repeat("9", n)
		}
		out.subs = append(out.subs, between(x, y))
	}
	return out
}

// between returns the expression of the numerals from lo to hi, of equal length.
func between(lo, hi string) *expr {
	n := len(lo) - 1
	switch {
	case lo == "":
		return text("")
	case lo[0] == hi[0]:
		return seq(text(lo[:1]), between(lo[1:], hi[1:]))
	case strings.Trim(lo[1:], "0") == "" && strings.Trim(hi[1:], "9") == "":
		return seq(digit(lo[0], hi[0]), digits(n, n))
	}
	out := alt(seq(text(lo[:1]), between(lo[1:], strings.Repeat("9", n))))
	if lo[0]+1 < hi[0] {
		out.subs = append(out.subs, seq(digit(lo[0]+1, hi[0]-1), digits(n, n)))
	}
	out.subs = append(out.subs, seq(text(hi[:1]), between(strings.Repeat("0", n), hi[1:])))
	return out
}

func digit(lo, hi byte) *expr { return class(rune(lo), rune(hi)) }

func digits(least, most int) *expr { return repeat(digit('0', '9'), least, most) }

// zeros is any number of zeros that may end a fraction; some is digits that are
// not all zero.
func zeros() *expr { return repeat(text("0"), 0, fractionDigits) }

func some() *expr {
	return seq(repeat(text("0"), 0, fractionDigits), digit('1', '9'), digits(0, fractionDigits))
}

// decimals returns the digits of r after the point; more than fractionDigits are
// cut.
func decimals(r *big.Rat) string {
	s := r.FloatString(fractionDigits)
	return strings.TrimRight(s[strings.IndexByte(s, '.')+1:], "0")
}

// reals returns the expression of the decimal numbers from a to b, which are not
// negative, without a (above) or b (below).
func reals(a *big.Rat, above bool, b *big.Rat, below bool) *expr {
	out := alt()
	if cmp := a.Cmp(b); cmp > 0 || cmp == 0 && (above || below) {
		return out
	}
	x, y, f, g := floor(a, false), floor(b, false), decimals(a), decimals(b)
	if x.Cmp(y) == 0 {
		n := max(len(f), len(g))
		f, g = f+strings.Repeat("0", n-len(f)), g+strings.Repeat("0", n-len(g))
		tail := seq(text("."), within(f, above, g, below))
		switch {
		case n == 0: // both are the same integer
			tail = optional(seq(text("."), text("0"), zeros()))
		case !above && strings.Trim(f, "0") == "": // a is an integer
			tail = optional(tail)
		}
		return seq(text(x.String()), tail)
	}
	out.subs = append(out.subs, seq(text(x.String()), fromFraction(f, above)), seq(text(y.String()), toFraction(g, below)))
	one := big.NewInt(1)
	if next, last := new(big.Int).Add(x, one), new(big.Int).Sub(y, one); next.Cmp(last) <= 0 {
		out.subs = append(out.subs, seq(naturals(next, last), fromFraction("", false)))
	}
	return out
}

// fromFraction returns the expression of a point and digits of at least 0.f, or
// more; nothing stands for 0.
func fromFraction(f string, above bool) *expr {
	if f == "" && !above {
		return optional(seq(text("."), digits(1, fractionDigits)))
	}
	return seq(text("."), atLeast(f, above))
}

func atLeast(f string, above bool) *expr {
	if f == "" {
		if above {
			return some()
		}
		return digits(0, fractionDigits)
	}
	out := alt(seq(text(f[:1]), atLeast(f[1:], above)))
	if f[0] < '9' {
		out.subs = append(out.subs, seq(digit(f[0]+1, '9'), digits(0, fractionDigits)))
	}
	return out
}

// toFraction returns the expression of a point and digits of at most 0.g, or less.
func toFraction(g string, below bool) *expr {
	if g == "" {
		if below {
			return alt()
		}
		return optional(seq(text(".0"), zeros()))
	}
	return optional(seq(text("."), atMost(g, below)))
}

// atMost is of at least one digit; g is not empty.
func atMost(g string, below bool) *expr {
	out := alt()
	if g[0] > '0' {
		out.subs = append(out.subs, seq(digit('0', g[0]-1), digits(0, fractionDigits)))
	}
	switch {
	case len(g) > 1:
		out.subs = append(out.subs, seq(text(g[:1]), optional(atMost(g[1:], below))))
	case !below:
		out.subs = append(out.subs, seq(text(g), zeros()))
	}
	return out
}

// within returns the expression of the digits from f to g, which have one length.
func within(f string, above bool, g string, below bool) *expr {
	switch {
	case f == "":
		if above || below {
			return alt()
		}
		return zeros()
	case f[0] == g[0]:
		rest := within(f[1:], above, g[1:], below)
		if !above && strings.Trim(f[1:], "0") == "" { // zeros need not be written
			rest = optional(rest)
		}
		return seq(text(f[:1]), rest)
	}
	out := alt(seq(text(f[:1]), atLeast(strings.TrimRight(f[1:], "0"), above)))
	if f[0]+1 < g[0] {
		out.subs = append(out.subs, seq(digit(f[0]+1, g[0]-1), digits(0, fractionDigits)))
	}
	if rest := strings.TrimRight(g[1:], "0"); rest != "" {
		out.subs = append(out.subs, seq(text(g[:1]), optional(atMost(rest, below))))
	} else if !below {
		out.subs = append(out.subs, seq(text(g[:1]), zeros()))
	}
	return out
}
