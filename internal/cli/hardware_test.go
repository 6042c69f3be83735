package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// hardwareRun runs one of the commands.
func hardwareRun(t *testing.T, make func(*command.Env) *cobra.Command, asJSON bool, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := make(&command.Env{Out: &out, Err: &out, Progress: io.Discard, JSON: &asJSON, Cache: t.TempDir()})
	c.SetArgs(append([]string{}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestHw(t *testing.T) {
	out, err := hardwareRun(t, hardwareCommand, false, "--probe", "none")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"machine ", "processor ", "cores ", "memory ", "storage ", "device"} {
		if !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	out, err = hardwareRun(t, hardwareCommand, true, "--probe=none", "--cache-dir", "")
	var v struct {
		Machine  string
		Snapshot struct{ CPU map[string]any }
		Details  map[string]any
	}
	if err != nil || json.Unmarshal([]byte(out), &v) != nil || len(v.Machine) != 12 || v.Snapshot.CPU["logical_cores"] == nil || v.Details["storage"] != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err = hardwareRun(t, hardwareCommand, false, "--probe=deep"); err == nil || !strings.Contains(err.Error(), "none, quick and full") {
		t.Errorf("got %v", err)
	}
}

func TestBenchMem(t *testing.T) {
	out, err := hardwareRun(t, benchMemoryCommand, true, "-t", "1", "-r", "1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseHardwareResult([]byte(out))
	if err != nil || len(b.Tests) != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(t.TempDir(), "before.json")
	if err := os.WriteFile(file, []byte(strings.Replace(out, b.Machine, "other", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	old, err := readBefore(file)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = report(&command.Env{Out: &text, JSON: new(bool)}, b, file, old)
	if out = text.String(); err != nil || !strings.Contains(out, "another machine") || strings.Count(out, "first touch, one core") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"-t", "-1"}, {"-r", "0"}, {"--compare", file + "x"}} {
		if _, err := hardwareRun(t, benchMemoryCommand, false, args...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// TestBenchSSD: measurements are stored, and hw finds them.
func TestBenchSSD(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds of the disk")
	}
	t.Parallel() // it mostly waits
	dir := filepath.Join(t.TempDir(), "cache")
	out, err := hardwareRun(t, benchStorageCommand, true, "--cache-dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := parseHardwareResult([]byte(out)); err != nil || len(b.Tests) != 7 {
		t.Errorf("%v: %s", err, out)
	}
	out, err = hardwareRun(t, hardwareCommand, false, "--cache-dir", dir)
	if err != nil || !strings.Contains(out, "reads ") || strings.Contains(out, "measured now") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := hardwareRun(t, benchStorageCommand, false, "--cache-dir", ""); err == nil {
		t.Error("no folder: no error")
	}
}

func TestHardwareCompare(t *testing.T) {
	bench := func(name string, low, high float64) *machine.Report {
		return &machine.Report{Machine: "m", Tests: []machine.Test{{Name: name, Unit: "B/s", Median: (low + high) / 2, Min: low, Max: high}}}
	}
	for _, c := range []struct {
		low, high float64
		want      string
	}{{1, 3, "within noise"}, {4, 6, "more"}, {.5, .7, "less"}, {3, 5, "within noise"}} {
		got := compareHardware("f", bench("a", 1, 3), bench("a", c.low, c.high))
		if !got.SameMachine || len(got.Tests) != 1 || got.Tests[0].Verdict != c.want {
			t.Errorf("%v to %v: %+v", c.low, c.high, got)
		}
	}
	if got := compareHardware("f", bench("a", 1, 3), bench("b", 1, 3)); len(got.Tests) != 0 {
		t.Errorf("other tests were compared: %+v", got)
	}
}

func FuzzHardwareParse(f *testing.F) {
	f.Add([]byte(`{"machine":"m","tests":[{"name":"a","unit":"B/s","median":2,"min":1,"max":3,"samples":[1,2,3]}]}`))
	f.Add([]byte(`{"tests":null} x`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseHardwareResult(b)
		if err != nil {
			return
		}
		for _, c := range compareHardware("f", r, r).Tests {
			if !(c.Ratio > 0) || math.IsInf(c.Ratio, 0) {
				t.Errorf("ratio %v", c.Ratio)
			}
		}
		text, err := json.Marshal(hardwareResult{Report: r})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseHardwareResult(text); err != nil {
			t.Errorf("printed and parsed: %v", err)
		}
	})
}
