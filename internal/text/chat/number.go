package chat

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
)

// maxBits bounds the size of integers: Python's are unbounded, a prompt's are not.
const maxBits = 1 << 16

// boolInt is int(b).
func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// asInt returns an integer operand (bool, int64, *big.Int) in its normal form.
func asInt(v Value) (Value, bool) {
	switch v := v.(type) {
	case bool:
		return boolInt(v), true
	case int64, *big.Int:
		return v, true
	}
	return nil, false
}

// smallInt returns v as an index or count.
func smallInt(v Value) (int64, bool) {
	switch v := v.(type) {
	case bool:
		return boolInt(v), true
	case int64:
		return v, true
	case *big.Int: // beyond every length: only its sign matters
		if v.Sign() < 0 {
			return math.MinInt64 / 4, true
		}
		return math.MaxInt64 / 4, true
	}
	return 0, false
}

// toBig is an integer in normal form as a big one.
func toBig(v Value) *big.Int {
	switch v := v.(type) {
	case *big.Int:
		return v
	case int64:
		return big.NewInt(v)
	}
	return new(big.Int)
}

// fromBig returns b in normal form.
func fromBig(b *big.Int) (Value, error) {
	if b.IsInt64() {
		return b.Int64(), nil
	}
	if b.BitLen() > maxBits {
		return nil, fail(kindOverflow, "integer of more than %d bits", maxBits)
	}
	return b, nil
}

// asFloat converts a number to float.
func asFloat(v Value) (float64, bool) {
	switch v := v.(type) {
	case bool:
		return float64(boolInt(v)), true
	case int64:
		return float64(v), true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	case float64:
		return v, true
	}
	return 0, false
}

// numCompare orders two numbers exactly; ok is false when one is no number or NaN.
func numCompare(a, b Value) (c int, ok bool) {
	ai, aInt := asInt(a)
	bi, bInt := asInt(b)
	if aInt && bInt {
		x, ok1 := ai.(int64)
		y, ok2 := bi.(int64)
		if ok1 && ok2 {
			return cmp.Compare(x, y), true
		}
		return toBig(ai).Cmp(toBig(bi)), true
	}
	x, ok1 := asFloat(a)
	y, ok2 := asFloat(b)
	if !ok1 || !ok2 || math.IsNaN(x) || math.IsNaN(y) {
		return 0, false
	}
	if (aInt || bInt) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return exact(a).Cmp(exact(b)), true
	}
	return cmp.Compare(x, y), true
}

func exact(v Value) *big.Float {
	if i, ok := asInt(v); ok {
		return new(big.Float).SetInt(toBig(i))
	}
	return big.NewFloat(v.(float64))
}

// isNumber reports bool, int and float.
func isNumber(v Value) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// arith computes a op b for two numbers.
func arith(op string, a, b Value) (Value, error) {
	x, ok1 := asInt(a)
	y, ok2 := asInt(b)
	if ok1 && ok2 {
		return intArith(op, x, y)
	}
	f, _ := asFloat(a)
	g, _ := asFloat(b)
	for _, v := range [2]float64{f, g} {
		if math.IsInf(v, 0) && (typeName(a) == "int" || typeName(b) == "int") {
			if ok1 && math.IsInf(f, 0) || ok2 && math.IsInf(g, 0) {
				return nil, fail(kindOverflow, "int too large to convert to float")
			}
		}
	}
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "/":
		if g == 0 {
			return nil, fail(kindZeroDiv, "float division by zero")
		}
		return f / g, nil
	case "//", "%":
		if g == 0 {
			return nil, fail(kindZeroDiv, "float floor division by zero")
		}
		q, r := floatDivmod(f, g)
		if op == "%" {
			return r, nil
		}
		return q, nil
	}
	return floatPow(f, g)
}

func floatPow(f, g float64) (Value, error) {
	if f == 0 && g < 0 {
		return nil, fail(kindZeroDiv, "0.0 cannot be raised to a negative power")
	}
	if f < 0 && g != math.Trunc(g) && !math.IsInf(f, 0) && !math.IsInf(g, 0) {
		return nil, valueError("complex numbers are not supported")
	}
	r := power(f, g)
	if math.IsInf(r, 0) && !math.IsInf(f, 0) && !math.IsInf(g, 0) {
		return nil, fail(kindOverflow, "numerical result out of range")
	}
	return r, nil
}

// power is C's pow, which rounds correctly for whole exponents; math.Pow errs
// in the last digit of large results.
func power(f, g float64) float64 {
	if g != math.Trunc(g) || math.Abs(g) < 3 || math.Abs(g) > 2000 || f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return math.Pow(f, g)
	}
	const precision = 256 // bits: 2000 products lose eleven
	z, x := big.NewFloat(1).SetPrec(precision), big.NewFloat(f).SetPrec(precision)
	for n := int(math.Abs(g)); n > 0; n >>= 1 {
		if n&1 != 0 {
			z.Mul(z, x)
		}
		x.Mul(x, x)
	}
	if g < 0 {
		z.Quo(big.NewFloat(1).SetPrec(precision), z)
	}
	r, _ := z.Float64()
	return r
}

// floatDivmod follows CPython's float_divmod: the remainder has the sign of g.
func floatDivmod(f, g float64) (q, r float64) {
	r = math.Mod(f, g)
	q = (f - r) / g
	if r != 0 {
		if (g < 0) != (r < 0) {
			r += g
			q--
		}
	} else {
		r = math.Copysign(0, g)
	}
	if q == 0 {
		return math.Copysign(0, f/g), r
	}
	fl := math.Floor(q)
	if q-fl > 0.5 {
		fl++
	}
	return fl, r
}

func intArith(op string, x, y Value) (Value, error) {
	a, ok1 := x.(int64)
	b, ok2 := y.(int64)
	if ok1 && ok2 {
		if v, ok := smallArith(op, a, b); ok {
			return v, nil
		}
	}
	p, q := toBig(x), toBig(y)
	r := new(big.Int)
	switch op {
	case "+":
		r.Add(p, q)
	case "-":
		r.Sub(p, q)
	case "*":
		r.Mul(p, q)
	case "/":
		if q.Sign() == 0 {
			return nil, fail(kindZeroDiv, "division by zero")
		}
		f, _ := new(big.Rat).SetFrac(p, q).Float64()
		if math.IsInf(f, 0) {
			return nil, fail(kindOverflow, "integer division result too large for a float")
		}
		return f, nil
	case "//", "%":
		if q.Sign() == 0 {
			return nil, fail(kindZeroDiv, "integer division or modulo by zero")
		}
		rem := new(big.Int)
		r.QuoRem(p, q, rem) // towards zero: step down when the signs differ
		if rem.Sign() != 0 && (rem.Sign() < 0) != (q.Sign() < 0) {
			r.Sub(r, big.NewInt(1))
			rem.Add(rem, q)
		}
		if op == "%" {
			r = rem
		}
	case "**":
		return intPow(p, q)
	}
	return fromBig(r)
}

// smallArith handles what stays within int64; ok is false otherwise.
func smallArith(op string, a, b int64) (Value, bool) {
	switch op {
	case "+":
		r := a + b
		return r, (r > a) == (b > 0)
	case "-":
		r := a - b
		return r, (r < a) == (b > 0)
	case "*":
		if a == 0 || b == 0 {
			return int64(0), true
		}
		hi, lo := bits.Mul64(magnitude(a), magnitude(b))
		return a * b, hi == 0 && lo < 1<<63
	case "/":
		const whole = 1 << 53 // both operands are exact floats below this
		if b != 0 && a > -whole && a < whole && b > -whole && b < whole {
			return float64(a) / float64(b), true
		}
	case "//", "%":
		if b == 0 || b == -1 {
			return nil, false
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if op == "%" {
			return r, true
		}
		return q, true
	}
	return nil, false
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func intPow(p, q *big.Int) (Value, error) {
	if q.Sign() < 0 {
		f, _ := asFloat(p)
		g, _ := asFloat(q)
		return floatPow(f, g)
	}
	if p.BitLen() > 1 && (!q.IsInt64() || q.Int64() > maxBits || int64(p.BitLen()-1)*q.Int64() > maxBits) {
		return nil, fail(kindOverflow, "integer of more than %d bits", maxBits)
	}
	if p.BitLen() <= 1 { // 0, 1, -1: the exponent's parity is enough
		if q.BitLen() > 2 {
			q = new(big.Int).Or(big.NewInt(2), new(big.Int).And(q, big.NewInt(1)))
		}
	}
	return fromBig(new(big.Int).Exp(p, q, nil))
}

// signed is +v or -v.
func signed(op string, v Value) (Value, error) {
	switch v := v.(type) {
	case float64:
		if op == "-" {
			return -v, nil
		}
		return v, nil
	case *undefined:
		return nil, v.Err()
	}
	i, ok := asInt(v)
	if !ok {
		return nil, typeError("bad operand type for unary %s: '%s'", op, typeName(v))
	}
	return intArith(op, int64(0), i)
}
