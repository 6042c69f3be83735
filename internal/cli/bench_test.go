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

// TestVersus checks the numbers that the scenario hides.
func TestVersus(t *testing.T) {
	ours := &benchResult{Model: "m", Batch: 1, TokenBytes: 10, Prefill: rate{Tokens: 4, Samples: []float64{300}}}
	for _, s := range []float64{100, 500} {
		ours.merge(&benchResult{Prefill: rate{Samples: []float64{s}}, Decode: rate{Tokens: 2, Samples: []float64{8}}, Bandwidth: 200})
	}
	ours.Decode.Tokens = 2
	if p := ours.Prefill; p.Median != 300 || p.Min != 100 || p.Max != 500 || ours.DecodeSpeed != 8 || ours.Share != 0.4 {
		t.Errorf("%+v", ours)
	}
	v := &versus{program: "x/y", rounds: 2}
	for range 2 {
		found, err := parseVersus([]byte(`[{"n_prompt":4,"n_gen":0,"avg_ts":1,"samples_ts":[100,200,300]},
			{"n_prompt":0,"n_gen":2,"avg_ts":16},{"n_prompt":4,"n_gen":0,"n_depth":5,"avg_ts":7},{"n_prompt":4,"n_gen":2,"avg_ts":7}]`))
		if err != nil {
			t.Fatal(err)
		}
		v.found = append(v.found, found...)
	}
	r, err := v.result(ours)
	if err != nil {
		t.Fatal(err)
	}
	if p, d := r.Rows[0], r.Rows[1]; p.Theirs.Median != 200 || p.Theirs.Min != 100 || p.Theirs.Max != 300 || p.Ratio != 1.5 || d.Theirs.Median != 16 || d.Ratio != 0.5 {
		t.Errorf("%+v", r.Rows)
	}
	v.found = v.found[:1]
	if _, err := v.result(ours); err == nil {
		t.Error("a test that is missing is not noticed")
	}
}

func FuzzVersus(f *testing.F) {
	f.Add([]byte(`[{"n_prompt":4,"avg_ts":100,"samples_ts":[100,200]},{"n_gen":2,"avg_ts":1}]`))
	f.Add([]byte(`[{"avg_ts":"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := parseVersus(b)
		if err != nil {
			return
		}
		v := &versus{found: found}
		r, err := v.result(&benchResult{Prefill: rate{Tokens: 4, Median: 1}})
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
