package ledger

import (
	"slices"
	"strings"
	"testing"
)

// TestDraw: bars are in one proportion, and every part has one.
func TestDraw(t *testing.T) {
	a := New(nil, 0)
	for u, n := range map[Use]int64{Weights: 400 << 20, Cache: 100 << 20, Scratch: 1} {
		if _, err := a.Reserve(u, n); err != nil {
			t.Fatal(err)
		}
	}
	parts := append(a.Parts("ram"), Part{"ssd", "weights", 200 << 20})
	if want := []Part{{"ram", "weights", 400 << 20}, {"ram", "cache", 100 << 20}, {"ram", "scratch", 1}, {"ssd", "weights", 200 << 20}}; !slices.Equal(parts, want) {
		t.Fatalf("%v", parts)
	}
	var b strings.Builder
	if err := Draw(&b, parts); err != nil {
		t.Fatal(err)
	}
	want := "ram                    500 MiB\n" +
		"  weights              400 MiB  " + strings.Repeat("█", 40) + "\n" +
		"  cache                100 MiB  " + strings.Repeat("█", 10) + "\n" +
		"  scratch                  1 B  ▏\n" +
		"ssd                    200 MiB\n" +
		"  weights              200 MiB  " + strings.Repeat("█", 20) + "\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
