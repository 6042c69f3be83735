package token

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// TestScores compares scores with those that the reference library reads:
// testdata/scores.py made them.
func TestScores(t *testing.T) {
	data, err := os.ReadFile("testdata/scores.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]string
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	differ := 0
	for _, c := range cases {
		got, ok := serdeFloat(c[0])
		if bits := fmt.Sprintf("%016x", math.Float64bits(got)); !ok || bits != c[1] {
			t.Errorf("%s: got %s (%v), want %s", c[0], bits, got, c[1])
		}
		if exact, _ := strconv.ParseFloat(c[0], 64); exact != got {
			differ++
		}
	}
	if differ < 20 {
		t.Errorf("%d of %d cases tell the reading from a correctly rounded one", differ, len(cases))
	}
	for _, s := range []string{"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "1e999", "1e99999999999", "1x", "1.5.2", "--1"} {
		if x, ok := serdeFloat(s); ok {
			t.Errorf("%q was read as %v", s, x)
		}
	}
}

// FuzzScore: a number is read where the standard library reads one, with nearly
// its value.
func FuzzScore(f *testing.F) {
	for _, s := range []string{"-13.25", "1e-320", "999999999999999999999", "0e99", "1E+5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := serdeFloat(s)
		if ok != (json.Valid([]byte(s)) && s == trimmed(s)) {
			if exact, err := strconv.ParseFloat(s, 64); ok || err == nil && json.Valid([]byte(s)) && s == trimmed(s) && isNumber(s) && math.Abs(exact) < 1e300 {
				t.Fatalf("%q: ok %v", s, ok)
			}
			return
		}
		if exact, err := strconv.ParseFloat(s, 64); ok && err == nil && math.Abs(exact) > 1e-300 && math.Abs(got-exact) > 1e-14*math.Abs(exact) {
			t.Fatalf("%q: got %v, want about %v", s, got, exact)
		}
	})
}

func trimmed(s string) string {
	for _, c := range s {
		if c <= ' ' {
			return ""
		}
	}
	return s
}

func isNumber(s string) bool { return s[0] == '-' || s[0] >= '0' && s[0] <= '9' }
