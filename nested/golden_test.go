package nested_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden"
)

// A family is one kind of case in the golden file: its runner names a case and
// checks it. Each family registers itself in a file golden_<family>_test.go.
type family struct {
	name func(c json.RawMessage) string
	run  func(t *testing.T, c json.RawMessage)
}

var families = map[string]family{}

// TestGoldenMemoryRules runs every case of the golden file in float64 and in
// float32. Subtests are FAMILY/CASE.
func TestGoldenMemoryRules(t *testing.T) {
	t.Parallel()
	var file map[string]json.RawMessage
	golden.JSON(t, filepath.Join(golden.Family(t, "memory_rules"), "cases.json"), &file)
	ran := 0
	for _, name := range slices.Sorted(maps.Keys(file)) {
		var cases []json.RawMessage
		if json.Unmarshal(file[name], &cases) != nil {
			continue // the file's heading
		}
		f, ok := families[name]
		ran++
		t.Run(name, func(t *testing.T) {
			if !ok {
				t.Fatalf("no runner is registered for family %q", name)
			}
			if len(cases) == 0 {
				t.Fatal("no cases")
			}
			seen := map[string]int{}
			for _, c := range cases {
				id := f.name(c)
				if seen[id]++; seen[id] > 1 {
					id = fmt.Sprintf("%s-%d", id, seen[id])
				}
				t.Run(id, func(t *testing.T) { f.run(t, c) })
			}
		})
	}
	if ran == 0 {
		t.Fatal("the file has no family of cases")
	}
}

// A nums is a number or a nested list of numbers of the file, flat.
type nums struct {
	Shape []int
	V     []float64
}

func (n *nums) UnmarshalJSON(b []byte) error {
	*n = nums{}
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	var x any
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	for y := x; ; {
		l, ok := y.([]any)
		if !ok {
			break
		}
		n.Shape = append(n.Shape, len(l))
		if len(l) == 0 {
			break
		}
		y = l[0]
	}
	return n.add(x)
}

func (n *nums) add(x any) error {
	switch x := x.(type) {
	case float64:
		n.V = append(n.V, x)
	case []any:
		for _, y := range x {
			if err := n.add(y); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%T among numbers", x)
	}
	return nil
}

// cast returns the numbers as elements of type F.
func cast[F float32 | float64](v []float64) []F {
	out := make([]F, len(v))
	for i, x := range v {
		out[i] = F(x)
	}
	return out
}

// tolerance returns the tolerance for F.
func tolerance[F float32 | float64](f64, f32 float64) float64 {
	if F(1)+F(1e-10) == F(1) {
		return f32
	}
	return f64
}

// near fails when an entry of got differs from want by more than tol times the
// largest entry of want.
func near[F float32 | float64](t testing.TB, what string, got []F, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	top := 0.0
	for _, x := range want {
		top = max(top, math.Abs(x))
	}
	if top == 0 {
		top = 1
	}
	at, worst := -1, 0.0
	for i, x := range want {
		if d := math.Abs(float64(got[i]) - x); !(d <= tol*top) && !(d <= worst) {
			at, worst = i, d
		}
	}
	if at >= 0 {
		t.Errorf("%s[%d]: got %g, want %g: off by %.2g of the largest entry, over %.2g", what, at, got[at], want[at], worst/top, tol)
	}
}

// decode reads a case or fails.
func decode[T any](t testing.TB, c json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(c, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
