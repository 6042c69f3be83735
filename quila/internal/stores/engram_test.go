package stores

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/machine/ledger"
	"atenia/tensor"
)

// TestGradient compares the gradients of a closed-book loss and of a read with a
// state with central differences, contexts without rows among them.
func TestGradient(t *testing.T) {
	const dim, size, codes, h = 5, 4, 7, 1e-6
	r := rand.New(rand.NewPCG(1, 2))
	wide := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	table, wk, wv, state := wide(dim<<size), wide(dim*dim), wide(dim*dim), wide(4*dim)
	read, book := wide(dim*dim), wide(codes*dim)
	contexts := [][]uint32{{1}, {1, 2}, {1, 2, 3, 4}, {'A', 'b', 'C'}}
	targets := []int32{0, 3, 6, 2}
	mul := DefaultMultipliers()
	var reg grad.Registry[float64]
	RegisterEngram(&reg)
	for _, blind := range []bool{true, false} {
		run := func() (float64, [][]float64) {
			tape := grad.New(&reg)
			refs := []grad.Ref{tape.Param(table, 1<<size, dim), tape.Param(wk, dim, dim), tape.Param(wv, dim, dim), tape.Param(state, 4, dim)}
			b := Book{Table: refs[0], Keys: refs[1], Values: refs[2], State: refs[3], Read: tape.Const(read, dim, dim), Codebook: tape.Const(book, codes, dim), Tau: 2}
			if blind {
				b.State = 0
			}
			loss, _, err := ClosedBook(tape, b, contexts, targets, size, &mul)
			if err != nil {
				t.Fatal(err)
			}
			if err := tape.Backward(loss); err != nil {
				t.Fatal(err)
			}
			var g [][]float64
			for _, p := range refs {
				d, ok := tape.Grad(p)
				if !ok {
					d = nil
				}
				g = append(g, slices.Clone(d))
			}
			return tape.Value(loss)[0], g
		}
		_, g := run()
		for i, v := range [][]float64{table, wk, wv, state} {
			if i == 3 && blind {
				if g[3] != nil {
					t.Error("the grid has a gradient in a closed book")
				}
				continue
			}
			largest := 0.
			for _, x := range g[i] {
				largest = max(largest, math.Abs(x))
			}
			for j := range v {
				was := v[j]
				v[j] = was + h
				a, _ := run()
				v[j] = was - h
				b, _ := run()
				v[j] = was
				want := (a - b) / (2 * h)
				if math.Abs(g[i][j]-want) > 1e-4*max(largest, 1e-3) {
					t.Fatalf("closed %v: gradient of tensor %d at %d is %g, differences %g", blind, i, j, g[i][j], want)
				}
			}
		}
	}
}

// TestCold: a table that does not fit into RAM reads the same rows.
func TestCold(t *testing.T) {
	const size, dim = 13, 4
	m := NewMemory(TierConfig{Dir: t.TempDir()})
	cold, err := NewEngramTable(EngramConfig{Bits: size, Dim: dim, Mul: DefaultMultipliers(), Cold: true, L4: 2 * pageRows * 2 * dim}, m)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, dim<<size)
	for i := range values {
		values[i] = float32(i % 2048)
	}
	if err := setValues(t.Context(), cold, values); err != nil {
		t.Fatal(err)
	}
	codes := []uint32{1, 2, 3, 4, 5, 6}
	if err := cold.Prefetch(t.Context(), codes); err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, Heads*dim)
	rows, _ := Probes(codes, size, &cold.c.Mul)
	n, err := Lookup(t.Context(), cold, dst, codes)
	if err != nil || n != Heads {
		t.Fatal(n, err)
	}
	for i, row := range rows {
		if !slices.Equal(dst[i*dim:(i+1)*dim], values[int(row)*dim:(int(row)+1)*dim]) {
			t.Errorf("row %d is %v", row, dst[i*dim:(i+1)*dim])
		}
	}
	back, err := valuesOf[float32](t.Context(), cold)
	if err != nil || !slices.Equal(back, values) {
		t.Errorf("the table is not what was written: %v", err)
	}
	if used := cold.group.Used(L4); used > 2*pageRows*2*dim {
		t.Errorf("%d bytes in RAM", used)
	}
	if err := cold.Close(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	_, bits := NewEngramTable(EngramConfig{Bits: 33, Dim: 1}, nil)
	_, full := NewEngramTable(EngramConfig{Bits: 12, Dim: 64}, NewMemory(TierConfig{Account: ledger.New(nil, 1000)}))
	table, err := NewEngramTable(EngramConfig{Bits: 2, Dim: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, short := Lookup(ctx, table, make([]float32, 3), nil)
	_, beyond := table.Save(ctx, nil, 3, 2)
	for _, x := range []struct{ err, is error }{
		{bits, errEngramShape}, {full, ledger.ErrFull}, {short, errEngramShape}, {beyond, errRow}, {table.Load(ctx, 0, make([]byte, 5)), errEngramShape},
		{table.Load(ctx, -1, make([]byte, 6)), errRow}, {setValues(ctx, table, make([]float64, 1)), errEngramShape},
	} {
		if !errors.Is(x.err, x.is) {
			t.Errorf("%v, want %v", x.err, x.is)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, size := range []int{10, 20} {
		b.Run(fmt.Sprintf("rows=%d", 1<<size), func(b *testing.B) {
			table, err := NewEngramTable(EngramConfig{Bits: size, Dim: 64, Mul: DefaultMultipliers()}, nil)
			if err != nil {
				b.Fatal(err)
			}
			dst, codes := make([]float32, Heads*64), []uint32{1, 2, 3}
			for i := 0; b.Loop(); i++ {
				codes[2] = uint32(i)
				if _, err := Lookup(b.Context(), table, dst, codes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// setValues rounds a whole table to half precision.
func setValues[F grad.Float](ctx context.Context, t *EngramTable, values []F) error {
	if len(values) != t.Rows()*t.c.Dim {
		return &engramValueError{"set", fmt.Sprintf("%d values", t.Rows()*t.c.Dim), fmt.Sprint(len(values)), errEngramShape}
	}
	row := make([]byte, 2*t.c.Dim)
	for r := range t.Rows() {
		for j, x := range values[r*t.c.Dim : (r+1)*t.c.Dim] {
			binary.LittleEndian.PutUint16(row[2*j:], tensor.F32ToF16(float32(x)))
		}
		if err := t.Load(ctx, r, row); err != nil {
			return err
		}
	}
	return nil
}

// valuesOf returns the whole table in a float type, for training.
func valuesOf[F grad.Float](ctx context.Context, t *EngramTable) ([]F, error) {
	out := make([]F, 0, t.Rows()*t.c.Dim)
	for r := range t.Rows() {
		b, err := t.row(ctx, r)
		if err != nil {
			return nil, err
		}
		for j := range t.c.Dim {
			out = append(out, F(tensor.F16ToF32(binary.LittleEndian.Uint16(b[2*j:]))))
		}
	}
	return out, nil
}
