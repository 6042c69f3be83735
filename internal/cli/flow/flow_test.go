package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/internal/cli/command"
)

// call runs a command and returns its output.
func call(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	json := len(args) > 0 && args[len(args)-1] == "--json"
	if json {
		args = args[:len(args)-1]
	}
	c := Command(&command.Env{Out: &out, Err: &errs, Progress: &errs, JSON: &json, Getenv: func(string) string { return "" }})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := call(t, args...)
	if err != nil {
		t.Fatalf("flow %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TestBench runs the saw, 8 times oversampled, for a short time. Its speed is
// not tested; the fields of the result and the heat are.
func TestBench(t *testing.T) {
	t.Parallel()
	t.Run("A54", func(t *testing.T) {
		t.Parallel()
		var r benched
		if err := json.Unmarshal([]byte(must(t, "bench", "--only", "oscillator", "--oscillator-seconds", "0.2", "--json")), &r); err != nil {
			t.Fatal(err)
		}
		o := r.Osc
		for name, v := range map[string]float64{"forward": o.Forward, "with metrics": o.Metered, "backward": o.Backward, "ns/node": o.Nanos} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%s: %g", name, v)
			}
		}
		if want := o.Seconds * 48000 * 1e-6; math.Abs(o.Joules-want) > 1e-6*want || math.Abs(o.Reverse-want) > 1e-6*want || o.Seconds != 0.2 {
			t.Errorf("%g J forward, %g J backward in %g s, want %g", o.Joules, o.Reverse, o.Seconds, want)
		}
		c, _, err := Command(&command.Env{JSON: new(bool)}).Find([]string{"bench"})
		if err != nil || c.Flags().Lookup("oscillator-seconds").DefValue != "60" {
			t.Error("a minute is not the default", err)
		}
	})
	out := must(t, "bench", "--seconds", "0.001", "--deadline-seconds", "0.01", "--oscillator-seconds", "0.01")
	for _, s := range []string{"gain chain, real-time executor", "biquads, fused", "scheduler:", "backward", "beside goroutines that allocate", "saw ×8"} {
		if !strings.Contains(out, s) {
			t.Errorf("the table lacks %q:\n%s", s, out)
		}
	}
}

// everyType is a plan with a node of each type that has one input and one
// output, or is a source, between an Input and a Probe.
func everyType(t testing.TB) string {
	t.Helper()
	nodes, edges := []string{`{"name":"in","type":"Input"}`}, []string{}
	all := flow.ShippedTypes()
	for i := range all {
		n := graph.Node{Name: all[i].Name, Type: all[i].Name, OversampleRatio: 1}
		spec, err := all.Describe(&n)
		if err != nil || len(spec.Ins) > 1 || len(spec.Outs) != 1 || n.Type == "Input" ||
			len(spec.Cons) > 0 && spec.Cons[0] != spec.Prod[0] {
			continue
		}
		p := fmt.Sprintf(`{"name":"%s","type":"%[1]s","supports_v2":true}`, n.Type)
		if _, err := call(t, "check", plan(t, fmt.Sprintf(`{"nodes":[{"name":"in","type":"Input"},%s,{"name":"out","type":"Probe"}],"edges":[%s{"source":"%s","target":"out"}]}`,
			p, edgeTo(spec, n.Type), n.Type)), "--json"); err != nil {
			continue // it needs a table
		}
		nodes, edges = append(nodes, p), append(edges, edgeTo(spec, n.Type))
		name := "probe_" + n.Type
		nodes = append(nodes, fmt.Sprintf(`{"name":"%s","type":"Probe"}`, name))
		edges = append(edges, fmt.Sprintf(`{"source":"%s","target":"%s"},`, n.Type, name))
	}
	if len(nodes) < 20 {
		t.Fatalf("a plan of %d nodes: %v", len(nodes), nodes)
	}
	return plan(t, fmt.Sprintf(`{"nodes":[%s],"edges":[%s]}`, strings.Join(nodes, ","), strings.TrimSuffix(strings.Join(edges, ""), ",")))
}

// edgeTo joins the input, if a type has one.
func edgeTo(spec *graph.Spec, name string) string {
	if len(spec.Ins) == 0 {
		return ""
	}
	return fmt.Sprintf(`{"source":"in","target":"%s"},`, name)
}

// plan writes a plan to a file.
func plan(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	childEnv = "ATENIA_FLOW_CHILD" // runs everything below, and nothing else
	tone     = `{"nodes":[{"name":"osc","type":"Oscillator","supports_v2":true},{"name":"out","type":"Probe"}],"edges":[{"source":"osc","target":"out"}]}`
)

// TestEverything runs every command, forward and backward, with nodes of every
// type.
func TestEverything(t *testing.T) {
	dir := t.TempDir()
	wave, out := filepath.Join(dir, "a.wav"), filepath.Join(dir, "b.flac")
	p, all := plan(t, tone), everyType(t)
	must(t, "run", p, "--seconds", "0.05", "--out", wave)
	must(t, "run", all, "--in", wave, "--out", "probe_Gain="+out, "--trace", filepath.Join(dir, "t.json"), "--prometheus", filepath.Join(dir, "m.txt"), "--metrics")
	must(t, "run", all, "--in", wave, "--f64", "--threads", "2", "--policy", "mute", "--scan", "all")
	must(t, "check", all)
	must(t, "draw", all)
	must(t, "nodes")
	must(t, "grad", all, "--in", wave, "--loss", "energy")
	must(t, "grad", p, "--seconds", "0.01", "--loss", "mse", "--target", wave, "--check", "--param", "osc.amplitude", "--checkpoint", "-1")
	trace, err := os.ReadFile(filepath.Join(dir, "t.json"))
	if err != nil || !json.Valid(trace) || !bytes.Contains(trace, []byte(`"name":"Biquad"`)) {
		t.Errorf("the trace: %v, %.200s", err, trace)
	}
	metrics, err := os.ReadFile(filepath.Join(dir, "m.txt"))
	if err != nil || !bytes.Contains(metrics, []byte(`atenia_flow_channel_frames{edge="in → Gain",state="capacity"}`)) {
		t.Errorf("the metrics: %v, %.300s", err, metrics)
	}
}

// interpreters are programs that a signal runtime might be tempted to start.
var interpreters = []string{"python", "python3", "pypy", "node", "lua", "luajit", "perl", "ruby", "sh", "bash", "julia", "Rscript", "octave", "guile", "java", "go", "gcc", "cc"}

// TestNoInterpreter runs everything with an empty PATH, then with one of traps
// only, and examines what the module links.
func TestNoInterpreter(t *testing.T) {
	t.Run("A55", func(t *testing.T) {
		if os.Getenv(childEnv) != "" {
			t.Skip("a child")
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		trap, marks := t.TempDir(), t.TempDir()
		for _, name := range interpreters {
			script := fmt.Sprintf("#!/bin/sh\necho started > %s\n", filepath.Join(marks, name))
			if err := os.WriteFile(filepath.Join(trap, name), []byte(script), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"", trap} {
			c := exec.CommandContext(t.Context(), exe, "-test.run", "^TestEverything$", "-test.v")
			c.Env = []string{"PATH=" + path, childEnv + "=1", "TMPDIR=" + t.TempDir(), "HOME=" + t.TempDir()}
			if v, ok := os.LookupEnv("SystemRoot"); ok {
				c.Env = append(c.Env, "SystemRoot="+v, "TEMP="+t.TempDir())
			}
			if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestEverything") {
				t.Fatalf("PATH=%q: %v\n%s", path, err, out)
			}
		}
		left, err := os.ReadDir(marks)
		if err != nil || len(left) > 0 {
			t.Errorf("started: %v, %v", left, err)
		}
		mod, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"python", "starlark", "goja", "otto", "lua", "v8", "quickjs", "tengo", "anko", "gpython", "wazero", "wasmer"} {
			if strings.Contains(strings.ToLower(string(mod)), name) {
				t.Errorf("go.mod has %s", name)
			}
		}
	})
}
