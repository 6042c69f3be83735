package flow_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// topics are the runners of golden cases by topic, which is also the name of
// the file of cases without its extension. Each registers itself in a file
// golden_<topic>_test.go and decodes its own cases.
var topics = map[string]func(t *testing.T, c json.RawMessage){}

// TestGoldenFlow runs every case of every topic; subtests are TOPIC/CASE.
func TestGoldenFlow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(golden.Family(t, "flow"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of cases: %v", err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		var file struct {
			Format, Topic string
			Cases         []json.RawMessage
		}
		golden.JSON(t, f, &file)
		topic := strings.TrimSuffix(filepath.Base(f), ".json")
		seen[topic] = true
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			run, ok := topics[topic]
			switch {
			case file.Format != "flow golden v1" || file.Topic != topic:
				t.Fatalf("%s: format %q, topic %q", f, file.Format, file.Topic)
			case !ok:
				t.Fatalf("no runner is registered for topic %q", topic)
			case len(file.Cases) == 0:
				t.Fatal("no cases")
			}
			for _, c := range file.Cases {
				name := decode[struct{ Name string }](t, c).Name
				if name == "" {
					t.Errorf("a case without a name: %.60s", c)
				}
				t.Run(name, func(t *testing.T) { run(t, c) })
			}
		})
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		if !seen[topic] && os.Getenv(golden.EnvVar) == "" { // other folders may have a part
			t.Errorf("no file of cases for topic %q", topic)
		}
	}
}

// A goldenTensor is a tensor of a case, [B, C, F], the last dimension fastest.
type goldenTensor struct {
	Shape [3]int
	Data  []float64
}

// decode reads a case, or fails. Fields that T does not have are ignored.
func decode[T any](t testing.TB, c json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.NewDecoder(bytes.NewReader(c)).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// goldenTolerance returns the tolerance for F, relative to the peak of the
// expected tensor: for float32 the error of another float32 implementation in
// the same case.
func goldenTolerance[F float32 | float64](spread float64) float64 {
	if F(1)+F(1e-10) != F(1) {
		return 1e-9
	}
	return max(1e-5, 4*spread)
}

// off returns the largest difference of an entry over the largest entry of want,
// or over 1 if want is zero up to rounding.
func off[F float32 | float64](got []F, want []float64) float64 {
	d, _ := farthest(got, want)
	return d
}

func farthest[F float32 | float64](got []F, want []float64) (share float64, at int) {
	peak, worst := 0.0, 0.0
	for _, x := range want {
		peak = max(peak, math.Abs(x))
	}
	if peak < 1e-13 { // rounding errors of sums that cancel
		peak = 1
	}
	for i, x := range want {
		d := math.Abs(float64(got[i]) - x)
		if math.IsNaN(d) {
			return math.Inf(1), i
		}
		if d > worst {
			worst, at = d, i
		}
	}
	return worst / peak, at
}

// near fails when an entry of got is off by more than tol; see off.
func near[F float32 | float64](t testing.TB, what string, got []F, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	if d, at := farthest(got, want); !(d <= tol) {
		t.Errorf("%s[%d]: got %g, want %g: off by %.2g of the peak, over %.2g", what, at, got[at], want[at], d, tol)
	}
}

// cast returns the numbers as elements of type F.
func cast[F, G float32 | float64](v []G) []F {
	out := make([]F, len(v))
	for i, x := range v {
		out[i] = F(x)
	}
	return out
}
