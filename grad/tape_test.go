package grad

import (
	"errors"
	"strings"
	"testing"
)

// register returns a registry of one function.
func register(k Key, f BackwardFunc[float64]) *Registry[float64] {
	r := new(Registry[float64])
	r.Register(k, f)
	return r
}

// double records an opaque operation y = 2x under key k.
func double[F Float](t *Tape[F], k Key, x Ref, saved ...Ref) Ref {
	y := t.Alloc(t.Shape(x)...)
	for i, v := range t.Value(x) {
		t.Data(y)[i] = 2 * v
	}
	if t.Opaque(k, []Ref{x}, []Ref{y}, saved, nil) != nil {
		return 0
	}
	return y
}

// TestOpaque: the gradients of a registered function are added exactly, and those
// of two consumers of one input are summed.
func TestOpaque(t *testing.T) {
	t.Parallel()
	reg := register("seven", func(b *OpaqueBack[float64]) {
		for i := range b.DIn(0) {
			b.DIn(0)[i] += 7
		}
	})
	tape := New(reg, CheckImmutable())
	x := tape.Input([]float64{1, 2, 3}, 3)
	y := double(tape, "seven", x)
	if err := tape.Backward(tape.Sum(y)); err != nil {
		t.Fatal(err)
	}
	if g, _ := tape.Grad(x); g[0] != 7 || g[1] != 7 || g[2] != 7 {
		t.Errorf("got %v, want sevens", g)
	}
	tape.Reset()
	x = tape.Input([]float64{1, 2, 3}, 3)
	sum := tape.Add(double(tape, "seven", x), double(tape, "seven", x))
	if err := tape.Backward(tape.Sum(sum)); err != nil {
		t.Fatal(err)
	}
	if g, _ := tape.Grad(x); g[0] != 14 {
		t.Errorf("two consumers: got %v, want 14", g)
	}
}

// TestErrors: mistakes are errors that name operation and shapes, never panics,
// and the first of them stays.
func TestErrors(t *testing.T) {
	t.Parallel()
	reg := register("panics", func(*OpaqueBack[float64]) { panic("no such luck") })
	for _, c := range []struct {
		name, text string
		is         error
		do         func(*Tape[float64]) error
	}{
		{"shapes", "op 0 add [2], [3]: shapes do not fit", ErrShape, func(t *Tape[float64]) error {
			t.Add(t.Param([]float64{1, 2}, 2), t.Param([]float64{1, 2, 3}, 3))
			return nil
		}},
		{"sticky", "op 0 add [2], [3]: shapes do not fit", ErrShape, func(t *Tape[float64]) error {
			a := t.Param([]float64{1, 2}, 2)
			t.Embed(t.Add(a, t.Param([]float64{1, 2, 3}, 3)), []int32{-5})
			return t.Backward(t.Sum(a))
		}},
		{"data", "op 0 param [3]: shapes do not fit: the data has 2 elements", ErrShape, func(t *Tape[float64]) error {
			t.Param([]float64{1, 2}, 3)
			return nil
		}},
		{"overflow", "op 0 alloc [2147483647 2147483647]", ErrShape, func(t *Tape[float64]) error {
			t.Alloc(1<<31-1, 1<<31-1)
			return nil
		}},
		{"range", "op 0 embed [2 1]: value out of range: id 2 at 1, table of 2 rows", ErrRange, func(t *Tape[float64]) error {
			t.Embed(t.Param([]float64{1, 2}, 2, 1), []int32{0, 2})
			return nil
		}},
		{"slice", "op 0 slice [2]: value out of range: 2 elements from 1", ErrRange, func(t *Tape[float64]) error {
			t.Slice(t.Param([]float64{1, 2}, 2), 1, 2)
			return nil
		}},
		{"axis", "op 0 concat [2]: value out of range: axis 1", ErrRange, func(t *Tape[float64]) error {
			t.Concat(1, t.Param([]float64{1, 2}, 2))
			return nil
		}},
		{"concat", "op 0 concat [2], [1 1]: shapes do not fit", ErrShape, func(t *Tape[float64]) error {
			t.Concat(0, t.Param([]float64{1, 2}, 2), t.Param([]float64{1}, 1, 1))
			return nil
		}},
		{"ref", "op 0 sum: no such buffer", ErrRef, func(t *Tape[float64]) error { t.Sum(99); return nil }},
		{"key", `op 0 opaque "nobody" [1]: no backward function`, ErrKey, func(t *Tape[float64]) error {
			double(t, "nobody", t.Param([]float64{1}, 1))
			return nil
		}},
		{"output", `an output is not from Alloc`, ErrRef, func(t *Tape[float64]) error {
			x := t.Param([]float64{1}, 1)
			return t.Opaque("panics", []Ref{x}, []Ref{x}, nil, nil)
		}},
		{"panic", `op 1 opaque "panics" [1]: panicked: no such luck`, ErrPanic, func(t *Tape[float64]) error {
			x := t.Neg(t.Param([]float64{1}, 1))
			return t.Backward(double(t, "panics", x))
		}},
		{"loss", "op 1 backward [2]: shapes do not fit: a loss is a single number", ErrShape, func(t *Tape[float64]) error {
			return t.Backward(t.Neg(t.Param([]float64{1, 2}, 2)))
		}},
		{"twice", "backward has run", ErrTwice, func(t *Tape[float64]) error {
			y := t.Sum(t.Param([]float64{1, 2}, 2))
			if err := t.Backward(y); err != nil {
				return err
			}
			return t.Backward(y)
		}},
		{"changed", "op 1 backward [2]: a buffer was changed after it was recorded: result %2", ErrImmutable, func(t *Tape[float64]) error {
			y := t.Neg(t.Param([]float64{1, 2}, 2))
			t.Value(y)[0] = 3
			return t.BackwardFrom(y, []float64{1, 1})
		}},
		{"borrowed", "borrow %1", ErrImmutable, func(t *Tape[float64]) error {
			w := []float64{1, 2}
			y := t.Sum(t.Borrow(w, 2))
			w[1] = 5
			return t.Backward(y)
		}},
		{"gradinto", "gradinto [2]", ErrShape, func(t *Tape[float64]) error {
			t.GradInto(t.Param([]float64{1, 2}, 2), nil)
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tape := New(reg, CheckImmutable())
			err := c.do(tape)
			if err == nil {
				err = tape.Err()
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %q", err, c.text)
			}
			tape.Reset()
			if tape.Err() != nil {
				t.Error("the error outlived Reset")
			}
		})
	}
}
