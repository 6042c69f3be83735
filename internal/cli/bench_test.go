package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/bench"
	"atenia/internal/golden"
	"atenia/internal/machine/cpu"
)

// TestBenchOut: what --out writes is what --json prints.
func TestBenchOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	printed := cliCall(t, "bench", "-p", "8", "-n", "2", "-r", "2", "-t", "1", "--json", "--out", file)
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
	ours := &benchResult{Model: "m", Batch: 1, TokenBytes: 10, FLOPS: 1, DotOPS: 1, Prefill: rate{Tokens: 4, Samples: []float64{300}}}
	for _, s := range []float64{100, 500} {
		ours.merge(&benchResult{Prefill: rate{Samples: []float64{s}}, Decode: rate{Tokens: 2, Samples: []float64{8}}, Bandwidth: 200})
	}
	ours.Decode.Tokens = 2
	if p := ours.Prefill; p.Median != 300 || p.Min != 100 || p.Max != 500 || ours.DecodeSpeed != 8 || ours.Share != 0.4 {
		t.Errorf("%+v", ours)
	}
	slow, fast := &bench.Peer{Name: "slow"}, &bench.Peer{Name: "fast"}
	for range 2 {
		found, err := bench.ParseBench([]byte(`[
WARNING: of a program that prints them here
			{"n_prompt":4,"n_gen":0,"avg_ts":1,"samples_ts":[100,200,300]},
			{"n_prompt":0,"n_gen":2,"avg_ts":16},{"n_prompt":4,"n_gen":0,"n_depth":5,"avg_ts":7},{"n_prompt":4,"n_gen":2,"test":"pp4+tg2","avg_ts":7},
			{"n_prompt":9,"n_gen":2,"test":"tg2@pp9","avg_ts":3}]`))
		if err != nil {
			t.Fatal(err)
		}
		if found[4].Depth != 9 || found[4].Prompt != 0 {
			t.Errorf("%+v", found[4])
		}
		fast.Found = append(fast.Found, found...)
		for _, e := range found {
			e.Samples = []float64{e.Samples[0] / 2}
			slow.Found = append(slow.Found, e)
		}
	}
	v := &versus{peers: []*bench.Peer{slow, fast}, rounds: 2}
	r, err := v.result(ours)
	if err != nil {
		t.Fatal(err)
	}
	p, d := r.Rows[0], r.Rows[1]
	if theirs := p.Theirs[1]; theirs.Median != 200 || theirs.Min != 100 || theirs.Max != 300 || p.Best != "fast" || p.Ratio != 1.5 || p.Low != 1./3 || p.High != 5 {
		t.Errorf("%+v", p)
	}
	if d.Theirs[0].Median != 8 || d.Theirs[1].Median != 16 || d.Ratio != 0.5 {
		t.Errorf("%+v", d)
	}
	fast.Found = fast.Found[:1]
	if _, err := v.result(ours); err == nil {
		t.Error("a test that is missing is not noticed")
	}
}

// TestReplaceSection: the rest of a file stays, byte for byte.
func TestReplaceSection(t *testing.T) {
	file := []byte("a\n<!-- bench x -->\nold\n<!-- end of bench x -->\nb\n<!-- bench y -->\n<!-- end of bench x -->")
	got, err := replaceSection(file, "x", []byte("new\n"))
	if want := strings.Replace(string(file), "old", "new", 1); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := replaceSection(file, "y", nil); err == nil {
		t.Error("a section without an end was replaced")
	}
}

// FuzzVersus reads what other programs print.
func FuzzVersus(f *testing.F) {
	f.Add([]byte(`[{"n_prompt":4,"avg_ts":100,"samples_ts":[100,200]},{"n_gen":2,"avg_ts":1}]`), false)
	f.Add([]byte(`[{"n_prompt":4,"n_gen":2,"test":"tg2@pp4","avg_ts":"`), false)
	f.Add([]byte("|    4 |     0 |    1 |    256 |    0.404 |   317.08 |    0.914 |   140.07 |"), true)
	f.Add([]byte("|a|b|c|d|e|f|g|h|"), true)
	f.Fuzz(func(t *testing.T, b []byte, batched bool) {
		parse := bench.ParseBench
		if batched {
			parse = bench.ParseBatched
		}
		found, err := parse(b)
		if err != nil {
			return
		}
		v := &versus{peers: []*bench.Peer{{Name: "x", Program: "x", Found: found}}}
		ours := &benchResult{Model: "m", Prefill: rate{Tokens: 4, Median: 1, Min: 1, Max: 1}}
		if ours.Versus, err = v.result(ours); err != nil {
			return
		}
		if _, err := json.Marshal(ours); err != nil {
			t.Error(err)
		}
		if text := markdownTable([]*benchResult{ours}, 0); strings.Count(text, "\n") != 5 {
			t.Errorf("%q", text)
		}
	})
}

func FuzzKernelsResult(f *testing.F) {
	f.Add([]byte(`{"kernels":[{"name":"norm f32 2048","bytes_per_second":1e9,"share":0.5,"min":0.4,"max":0.6}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseKernels(b)
		if err != nil {
			return
		}
		r.compare(r)
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}

// programVar makes the test binary the program itself.
const programVar = "ATENIA_CLI_PROGRAM"

// peakVar is where the program writes the most memory that it had. The system's
// figure for a process that has ended includes that of the one that started it.
const peakVar = "ATENIA_CLI_PEAK"

// TestMain lets the test binary be a neighbour of its tests, and the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "bench" || os.Getenv(programVar) != "" {
		code := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		if path := os.Getenv(peakVar); path != "" {
			_ = os.WriteFile(path, strconv.AppendInt(nil, cpu.PeakResident(), 10), 0o600)
		}
		os.Exit(code)
	}
	const mine = "ATENIA_CLI_STATE" // of a test, which a test that it starts shares: it may be killed
	dir, err := "", error(nil)
	if os.Getenv(mine) == "" {
		dir, err = os.MkdirTemp("", "state") // what tests learn is not the user's
		err = errors.Join(err, os.Setenv("XDG_STATE_HOME", dir), os.Setenv(mine, dir))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	if dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// TestBenchRecord: what bench prints with --json has the fields that perf/matrix.json
// promises of a record.
func TestBenchRecord(t *testing.T) {
	var matrix struct {
		Record map[string]string
	}
	golden.JSON(t, filepath.Join(golden.Root(t), "perf", "matrix.json"), &matrix)
	b, err := json.Marshal(benchResult{Counters: &benchCounters{}})
	if err != nil {
		t.Fatal(err)
	}
	var have map[string]any
	if err := json.Unmarshal(b, &have); err != nil {
		t.Fatal(err)
	}
	if b, err = json.Marshal(imagesResult{}); err == nil {
		err = json.Unmarshal(b, &have) // a record of images
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prefill", "decode", "step_p50", "step_p95", "launches", "image", "device_memory"} {
		field, ok := matrix.Record[name]
		if why, none := strings.CutPrefix(field, "not present: "); none && why != "" {
			continue
		}
		if _, there := have[field]; !ok || !there {
			t.Errorf("a record has no %s (%q)", name, field)
		}
	}
}
