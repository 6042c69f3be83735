package flow

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
)

// equaliser is a graph of two bands; what it should find is set by --set.
const equaliser = `{"nodes":[{"name":"in","type":"Input"},
	{"name":"low","type":"Biquad","supports_v2":true,"params":{"kind":"peaking","f0":300,"q":1,"gain_db":0.5}},
	{"name":"high","type":"Biquad","supports_v2":true,"params":{"kind":"peaking","f0":4000,"q":1,"gain_db":0.5}},
	{"name":"out","type":"Probe"}],
	"edges":[{"source":"in","target":"low"},{"source":"low","target":"high"},{"source":"high","target":"out"}]}`

// TestFit: from a sound and its equalised version alone, the command finds the
// settings, by either loss, and what it writes makes the target.
func TestFit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dry, wet := filepath.Join(dir, "dry.wav"), filepath.Join(dir, "wet.wav")
	source := put("noise.json", `{"nodes":[{"name":"n","type":"Noise","params":{"amplitude":0.25}},{"name":"out","type":"Probe"}],"edges":[{"source":"n","target":"out"}]}`)
	must(t, "run", source, "--seconds", "0.06", "--out", dry)
	graph := put("eq.json", equaliser)
	must(t, "run", graph, "--in", dry, "--out", wet, "--set", "low.f0=400", "--set", "low.gain_db=5", "--set", "high.f0=5000", "--set", "high.gain_db=-4")
	const free = "\n[[param]]\nname = \"*.f0\"\npositive = true\n[[param]]\nname = \"*.gain_db\"\nscale = 10\n"
	for loss, more := range map[string]string{"mse": "", "spectral": "sizes = [256, 64]\n"} {
		recipe := put(loss+".toml", "graph = \"eq.json\"\nin = \"dry.wav\"\ntarget = { out = \"wet.wav\" }\nloss = \""+loss+"\"\nsteps = 150\nout = \""+loss+".json\"\n"+more+free)
		var r fitted
		if err := json.Unmarshal([]byte(must(t, "fit", recipe, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"low.f0": 400, "low.gain_db": 5, "high.f0": 5000, "high.gain_db": -4}
		for _, p := range r.Params {
			if w := want[p.Name]; math.Abs(p.After[0]-w) > 0.02*math.Abs(w) {
				t.Errorf("%s: %s is %g, want %g", loss, p.Name, p.After[0], w)
			}
		}
		if len(r.Params) != 4 || !(r.Last < 1e-3*r.First) {
			t.Errorf("%s: %+v", loss, r)
		}
		made := filepath.Join(dir, "made.wav")
		must(t, "run", filepath.Join(dir, loss+".json"), "--in", dry, "--out", made)
	}
	// Another start and end by flags; "seconds" cuts the files.
	recipe := put("short.toml", "graph = \"eq.json\"\nin = \"dry.wav\"\ntarget = \"wet.wav\"\nseconds = 0.02\n"+free)
	out := must(t, "fit", recipe, "--steps", "3", "--out", filepath.Join(dir, "other.json"), "--set", "low.f0=390")
	if !strings.Contains(out, "low.f0        390") || !strings.Contains(out, "after 3 steps") {
		t.Error(out)
	}
	for text, want := range map[string]string{
		"graph = \"eq.json\"": "target: want the sound",
		"graph = \"eq.json\"\ntarget = \"wet.wav\"\nloss = \"l1\"":                                    "want mse or spectral",
		"graph = \"eq.json\"\ntarget = \"wet.wav\"\nrates = 1":                                        "unknown key rates",
		"graph = \"eq.json\"\nin = 3\ntarget = \"wet.wav\"":                                           "want the name of a file",
		"graph = \"eq.json\"\nin = \"dry.wav\"\ntarget = \"wet.wav\"\n[[param]]\nname = \"low.gain\"": "low.gain: the graph has no such parameter",
		"graph = [[[[[[[[[[": "brackets in one another",
	} {
		_, err := call(t, "fit", put("bad.toml", text))
		if _, usage := errors.AsType[*command.UsageError](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestFitInterrupted: what was found before an interruption is written.
func TestFitInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"eq.json": equaliser, "f.toml": "graph = \"eq.json\"\nin = \"dry.wav\"\ntarget = \"dry.wav\"\nsteps = 100000\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "run", plan(t, tone), "--seconds", "0.01", "--out", filepath.Join(dir, "dry.wav"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	json := false
	c := Command(&command.Env{Out: io.Discard, Err: io.Discard, JSON: &json, Getenv: func(string) string { return "" },
		Progress: writerFunc(func(b []byte) (int, error) { cancel(); return len(b), nil })})
	c.SetArgs([]string{"fit", filepath.Join(dir, "f.toml")})
	c.SilenceErrors, c.SilenceUsage = true, true
	if err := c.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, "check", filepath.Join(dir, "fitted.json"))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestGradArrays: every gradient is in a file of its own, with its shape.
func TestGradArrays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "grad", plan(t, tone), "--seconds", "0.01", "--npy", dir)
	b, err := os.ReadFile(filepath.Join(dir, "osc.amplitude.npy"))
	if err != nil || !strings.Contains(string(b[:128]), "'shape': (1, 1, 1,)") {
		t.Errorf("%q, %v", b, err)
	}
}
