package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBenchOut: what --out writes is what --json prints.
func TestBenchOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	printed := call(t, "bench", "-p", "8", "-n", "2", "-r", "2", "-t", "1", "--json", "--out", file)
	written, err := os.ReadFile(file)
	if err != nil || !slices.Equal(written, printed) {
		t.Errorf("%v\n%s\nwant\n%s", err, written, printed)
	}
	r, err := readResult(file)
	if err != nil {
		t.Fatal(err)
	}
	r.Prefill.Median /= 2
	c := compare(file, r, r)
	if len(c.Rows) != 2 || c.Rows[0].Ratio != 1 {
		t.Errorf("%+v", c)
	}
}

func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"model":"m","prefill":{"tokens":4,"median":1},"decode":{"tokens":4,"median":2},"depths":[{"depth":1,"tokens":4,"median":3}]}`))
	f.Add([]byte(`{"model":"m"} {`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseResult(b)
		if err != nil {
			return
		}
		c := compare("file", r, r)
		if len(c.Rows) != len(r.rows()) {
			t.Errorf("%d rows of %d", len(c.Rows), len(r.rows()))
		}
		if _, err := json.Marshal(c); err != nil {
			t.Error(err)
		}
	})
}
