package chat

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"
)

func TestMapKeysEqualInPython(t *testing.T) {
	m := NewMap("b", 1, int64(1), "int", true, "bool", 1.0, "float", nil, "none", Markup("b"), 2)
	if m.Len() != 3 {
		t.Fatalf("%d keys, want 3: b, 1 and None", m.Len())
	}
	var keys []Value
	for k := range m.All() {
		keys = append(keys, k)
	}
	if !slices.Equal(keys, []Value{"b", int64(1), nil}) {
		t.Errorf("keys %v: the first spelling and its place stay", keys)
	}
	if v, _ := m.Get(1.0); v != "float" {
		t.Errorf("1.0 holds %v, want the last value", v)
	}
	if err := m.Set(NewList(), 1); err == nil {
		t.Error("a list became a key")
	}
	if c := m.Clone(); c.Set("c", 3) != nil || m.Len() != 3 || c.Len() != 4 {
		t.Error("a clone shares entries")
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 80)
	if m = NewMap(huge, 1); m.Len() != 1 {
		t.Fatal("a big integer is no key")
	}
	if _, ok := m.Get(math.Ldexp(1, 80)); !ok {
		t.Error("2**80 and 2.0**80 are different keys")
	}
}

func TestDecodeJSONErrors(t *testing.T) {
	for text, offset := range map[string]int64{`{"a" 1}`: 5, `[1, 2`: 5, `{"a": 1} x`: 9, ``: 0, `[1e]`: 1} {
		_, err := DecodeJSON([]byte(text))
		e, ok := errors.AsType[*jsonError](err)
		if !ok || e.Offset > int64(len(text)) || e.Offset+1 < offset {
			t.Errorf("%q: %v, want an error near byte %d", text, err, offset)
		}
	}
	v, err := DecodeJSON([]byte(`{"z": 1, "a": [1.0, 1e2, 12345678901234567890, -0], "z": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := newMachine(Limits{}).Str(v); s != "{'z': 2, 'a': [1.0, 100.0, 12345678901234567890, 0]}" {
		t.Errorf("got %s", s)
	}
}

// TestIntegers compares the arithmetic of Python with that of math/big around
// the borders of int64.
func TestIntegers(t *testing.T) {
	var nums []Value
	for _, b := range []int64{0, 1, 2, 3, 7, 1 << 31, 3037000500, math.MaxInt64 - 1, math.MaxInt64} {
		nums = append(nums, b, -b)
	}
	nums = append(nums, int64(math.MinInt64), new(big.Int).Lsh(big.NewInt(1), 63), new(big.Int).Lsh(big.NewInt(-5), 70))
	for _, x := range nums {
		for _, y := range nums {
			a, b := toBig(x), toBig(y)
			floor, rem := new(big.Int), new(big.Int)
			if b.Sign() != 0 {
				floor.DivMod(a, b, rem) // Euclidean
				if b.Sign() < 0 && rem.Sign() != 0 {
					floor.Sub(floor, big.NewInt(1))
					rem.Add(rem, b)
				}
			}
			for op, want := range map[string]*big.Int{
				"+": new(big.Int).Add(a, b), "-": new(big.Int).Sub(a, b), "*": new(big.Int).Mul(a, b), "//": floor, "%": rem,
			} {
				got, err := arith(op, x, y)
				if b.Sign() == 0 && (op == "//" || op == "%") {
					if err == nil {
						t.Errorf("%v %s 0: no error", x, op)
					}
					continue
				}
				if err != nil || toBig(got).Cmp(want) != 0 {
					t.Errorf("%v %s %v = %v, %v, want %v", x, op, y, got, err, want)
				}
				if g, ok := got.(*big.Int); ok && g.IsInt64() {
					t.Errorf("%v %s %v is not in normal form", x, op, y)
				}
			}
		}
	}
}

func TestFormatFloat(t *testing.T) {
	for f, want := range map[float64]string{
		1: "1.0", 0.1: "0.1", 1e15: "1000000000000000.0", 1e16: "1e+16", 1e-4: "0.0001", 1e-5: "1e-05", -2.5: "-2.5",
		123456789.123: "123456789.123", 5e-324: "5e-324", math.Inf(1): "inf", math.MaxFloat64: "1.7976931348623157e+308",
	} {
		if got := formatFloat(f); got != want {
			t.Errorf("%g prints %s, want %s", f, got, want)
		}
	}
	if formatFloat(math.Copysign(0, -1)) != "-0.0" {
		t.Error("-0.0 loses its sign")
	}
}
