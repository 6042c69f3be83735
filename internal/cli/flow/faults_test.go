package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
)

// both runs a command and returns what it prints to both outputs.
func both(t testing.TB, args ...string) (out, errs string, err error) {
	t.Helper()
	var a, b bytes.Buffer
	c := Command(&command.Env{Out: &a, Err: &b, Progress: &b, JSON: new(bool), Getenv: func(string) string { return "" }})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return a.String(), b.String(), err
}

// overflow exceeds float32 in every block.
const overflow = `{"nodes":[{"name":"one","type":"Constant","params":{"value":1}},{"name":"a","type":"Gain","params":{"gain":1e38}},
	{"name":"b","type":"Gain","params":{"gain":1e38}},{"name":"out","type":"Probe"}],
	"edges":[{"source":"one","target":"a"},{"source":"a","target":"b"},{"source":"b","target":"out"}]}`

// TestLostBlocks: a run that lost blocks says so and fails, unless losses were accepted; its files are written.
func TestLostBlocks(t *testing.T) {
	t.Parallel()
	p, wave := plan(t, overflow), filepath.Join(t.TempDir(), "a.wav")
	for _, c := range []struct {
		flags []string
		lost  bool
	}{
		{nil, true}, {[]string{"--policy", "bypass"}, true}, {[]string{"--policy", "mute"}, false},
		{[]string{"--realtime", "--limit", "1m"}, true}, {[]string{"--realtime", "--limit", "1m", "--policy", "mute"}, false},
	} {
		os.Remove(wave)
		out, _, err := both(t, append([]string{"run", p, "--seconds", "0.02", "--out", wave}, c.flags...)...)
		e, failed := errors.AsType[*command.ExitError](err)
		if failed != c.lost || failed && e.Code != command.Failure || !failed && err != nil {
			t.Errorf("%v: %v", c.flags, err)
		}
		for _, s := range []string{"block 0: node b at frame 0: NaN or infinity in output 0", "15 blocks lost", "5 events more"} {
			if !strings.Contains(out, s) {
				t.Errorf("%v: no %q in\n%s", c.flags, s, out)
			}
		}
		if _, err := os.Stat(wave); err != nil {
			t.Error(err)
		}
	}
	if out, _, err := both(t, "run", plan(t, tone), "--seconds", "0.02"); err != nil || strings.Contains(out, "lost") {
		t.Errorf("nothing was lost: %v, %s", err, out)
	}
}

// TestDelayEvent: an under-declared delay is no failure.
func TestDelayEvent(t *testing.T) {
	t.Parallel()
	p := plan(t, `{"nodes":[{"name":"osc","type":"Oscillator"},{"name":"lim","type":"Limiter","supports_v2":true,"params":{"lookahead":48}},{"name":"out","type":"Probe"}],
		"edges":[{"source":"osc","target":"lim"},{"source":"lim","target":"out"}]}`)
	out, _, err := both(t, "run", p, "--seconds", "0.02")
	if err != nil || !strings.Contains(out, "node lim at frame 0: reports a delay of 48 frames, more than it declares\n") || strings.Contains(out, "AMP_E") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestDeadlockEvent: run and check say that a capacity of the plan is too small.
func TestDeadlockEvent(t *testing.T) {
	t.Parallel()
	p := plan(t, `{"nodes":[{"name":"osc","type":"Oscillator"},{"name":"out","type":"Probe"}],"edges":[{"source":"osc","target":"out","delay_frames":100,"capacity_frames":150}]}`)
	for _, args := range [][]string{{"run", p, "--seconds", "0.02"}, {"check", p}} {
		if out, _, err := both(t, args...); err != nil || !strings.Contains(out, "edges[0] has room for 192 frames now") {
			t.Errorf("%v: %v\n%s", args[0], err, out)
		}
	}
}

// TestTwoReaders: a node that must be asked beside one that need not, from one source: the same files in real time.
func TestTwoReaders(t *testing.T) {
	t.Parallel()
	p, dir := plan(t, `{"nodes":[{"name":"osc","type":"Oscillator"},{"name":"async","type":"AsyncResample","params":{"ratio":0.9}},{"name":"gain","type":"Gain","params":{"gain":0.5}},
		{"name":"a","type":"Probe"},{"name":"b","type":"Probe"}],
		"edges":[{"source":"osc","target":"async"},{"source":"osc","target":"gain"},{"source":"async","target":"a"},{"source":"gain","target":"b"}]}`), t.TempDir()
	var sound [2][2][]byte
	for i, more := range [][]string{nil, {"--realtime", "--limit", "1m"}} {
		a, b := filepath.Join(dir, "a.wav"), filepath.Join(dir, "b.wav")
		must(t, append([]string{"run", p, "--seconds", "0.3", "--out", "a=" + a, "--out", "b=" + b}, more...)...)
		for k, path := range []string{a, b} {
			var err error
			if sound[i][k], err = os.ReadFile(path); err != nil || len(sound[i][k]) < 40000 {
				t.Fatal(path, len(sound[i][k]), err)
			}
		}
	}
	if !bytes.Equal(sound[0][0], sound[1][0]) || !bytes.Equal(sound[0][1], sound[1][1]) {
		t.Error("other frames in real time")
	}
}

// faultLibrary builds the nodes that break rules, for tests of package amp.
func faultLibrary(t *testing.T) string {
	t.Helper()
	return compiled(t, "nodes.amp.so", filepath.Join("flow", "amp", "testdata", "nodes.c"))
}

// TestLibraryEvents: what nodes in C log and which rules they break is printed, from this process and from another one,
// and why a library was refused.
func TestLibraryEvents(t *testing.T) {
	lib := faultLibrary(t)
	refused := filepath.Join(t.TempDir(), "text.amp.so")
	if err := os.WriteFile(refused, []byte("no library"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := plan(t, `{"nodes":[{"name":"osc","type":"Oscillator"},{"name":"talk","type":"Talk.c","supports_v2":true},{"name":"slow","type":"Reluctant.c","supports_v2":true},
		{"name":"env","type":"Rounding.c","supports_v2":true},{"name":"spare","type":"Spare.c","supports_v2":true},{"name":"out","type":"Probe"}],
		"edges":[{"source":"osc","target":"talk"},{"source":"talk","target":"slow"},{"source":"slow","target":"env"},{"source":"env","target":"spare"},{"source":"spare","target":"out"}]}`)
	for _, more := range [][]string{nil, {"--trust", lib}} {
		out, errs, err := both(t, append([]string{"run", p, "--seconds", "0.01", "--metrics", "--nodes", lib, "--nodes", refused}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"message of level 2: hello from C", "slow: v2 does not know the forward mode", "env: changes the floating-point environment", "reserved [0 2.5 0 0 0 32]"} {
			if !strings.Contains(out, s) {
				t.Errorf("%v: no %q in\n%s", more, s, out)
			}
		}
		if !strings.Contains(errs, "warning: "+refused+": ") {
			t.Errorf("%v: why the library was refused is not said:\n%s", more, errs)
		}
	}
	text, err := call(t, "run", p, "--seconds", "0.01", "--metrics", "--nodes", lib, "--json")
	var r ran
	if err != nil || json.Unmarshal([]byte(text), &r) != nil || len(r.Library) < 3 || r.Library[0].Path != lib {
		t.Fatalf("%v: %s", err, text)
	}
	for _, n := range r.Metrics {
		if (n.Node == "spare") != (len(n.Spare) == 6 && n.Spare[1] == 2.5) {
			t.Errorf("%+v", n)
		}
	}
	bad := plan(t, `{"nodes":[{"name":"osc","type":"Oscillator"},{"name":"talk","type":"Talk.c"},{"name":"bad","type":"HostCode.c"},{"name":"out","type":"Probe"}],
		"edges":[{"source":"osc","target":"talk"},{"source":"talk","target":"bad"},{"source":"bad","target":"out"}]}`)
	_, errs, err := both(t, "run", bad, "--seconds", "0.01", "--nodes", lib, "--trust", lib)
	if err == nil || !strings.Contains(errs, "node bad at frame 0: the call failed with AMP_E_FAIL\n") || !strings.Contains(errs, "hello from C") || !strings.Contains(errs, "bad: returns a result that no node may return") {
		t.Errorf("a run that fails: %v\n%s", err, errs)
	}
}
