package quila_test

import (
	"math/bits"
	"slices"
	"strconv"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/stores"
)

func init() { topics["engram"] = goldenEngram }

type engramCase struct {
	Rows       int
	Mul        []string
	DefaultMul []string `json:"default_mul"`
	Probes     []struct {
		Codes  []uint32
		Probes []*uint32
	}
	Row   [][]float64
	State []float64
	WK    [][]float64 `json:"w_k"`
	WV    [][]float64 `json:"w_v"`
	K, V  [][]float64
	Gate  []float64
}

// multipliers are decimal 64-bit numbers.
func multipliers(t *testing.T, text []string) (m stores.Multipliers) {
	t.Helper()
	if len(text) != len(m) {
		t.Fatalf("%d multipliers", len(text))
	}
	for i, s := range text {
		x, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		m[i] = x
	}
	return m
}

func goldenEngram(t *testing.T, path string) {
	var c engramCase
	golden.JSON(t, path, &c)
	if len(c.Probes) == 0 || len(c.Row) == 0 {
		t.Fatal("no cases")
	}
	if got := stores.DefaultMultipliers(); got != multipliers(t, c.DefaultMul) {
		t.Errorf("default multipliers %v, want %v", got, c.DefaultMul)
	}
	size := bits.Len(uint(c.Rows)) - 1
	mul := multipliers(t, c.Mul)
	for _, p := range c.Probes {
		rows, n := stores.Probes(p.Codes, size, &mul)
		for i, want := range p.Probes {
			if (want != nil) != (i < n) || want != nil && rows[i] != *want {
				t.Errorf("codes %v: rows %v, %d of them", p.Codes, rows, n)
				break
			}
		}
	}
	engramGate[float64](t, &c, 1e-10)
	engramGate[float32](t, &c, 5e-5)
}

func engramGate[F float32 | float64](t *testing.T, c *engramCase, tol float64) {
	to := func(x ...[]float64) (out []F) {
		for _, v := range slices.Concat(x...) {
			out = append(out, F(v))
		}
		return out
	}
	d, n := len(c.State), len(c.Row)
	k, v, g := make([]F, n*d), make([]F, n*d), make([]F, n)
	stores.Gate(k, v, g, to(c.Row...), to(c.State), to(c.WK...), to(c.WV...))
	near(t, "keys", k, slices.Concat(c.K...), tol, 0)
	near(t, "values", v, slices.Concat(c.V...), tol, 0)
	near(t, "gates", g, c.Gate, tol, 0)
}
