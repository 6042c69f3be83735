package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atenia/internal/cli/command"
)

// fakeDriver compiles a driver of devices that is no machine's and returns its folder.
func fakeDriver(t *testing.T) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatal("the fake driver needs gcc")
		}
		t.Skip("no gcc")
	}
	dir := t.TempDir()
	source := filepath.Join("..", "memory", "cuda", "testdata", "fake.c")
	if out, err := exec.Command(gcc, "-O1", "-shared", "-fPIC", "-pthread", "-o", filepath.Join(dir, "libcuda.so.1"), source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// A deviceSetup is a machine, and what is said of it.
type deviceSetup struct {
	name  string
	fake  string // what the driver has; "" = there is no driver
	after string // what the driver had in the run before; "" = there was none
	hw    string // a line of hw, a pattern
	idle  string // why no kernel is on a device
	rule  string // of placement
	to    string // where it wants weights
	bound string // the rule of the record of a disagreement; "" = there is none
	flags []string
}

const (
	oneDevice = "devices=1,bytes=1073741824,used=0,broken=-"
	idleOne   = "cuda:0 has 1 GiB free; nothing computes there"
)

var deviceSetups = []deviceSetup{
	{name: "none", hw: `devices +none`, idle: "GPU not available", rule: "NoDevice", to: "Cpu"},
	{name: "no devices", fake: "devices=0,bytes=1,used=0,broken=-", hw: `devices +none`, idle: "GPU not available", rule: "NoDevice", to: "Cpu"},
	{name: "one", fake: oneDevice, hw: `calls so far: \d+, none failed`, idle: idleOne, rule: "SafeVram", to: "Vram", bound: "NothingComputes"},
	{name: "two", fake: "devices=2,bytes=1073741824,used=0,broken=-", hw: `cuda:1: Fake 1, 1\.0 GiB free`,
		idle: "cuda:0 has 1 GiB free, cuda:1 has 1 GiB free; nothing computes there", rule: "SafeVram", to: "Vram", bound: "NothingComputes"},
	{name: "full", fake: "devices=1,bytes=1073741824,used=1000000000,broken=-", hw: `pressure of VRAM +0\.93`,
		idle: "cuda:0 has 70.33 MiB free; nothing computes there", rule: "HighVram", to: "Ram"},
	{name: "broken", fake: "devices=1,bytes=1073741824,used=0,broken=cuMemGetInfo_v2", hw: `calls so far: \d+ succeeded, [1-9]\d* failed: .*cuMemGetInfo`,
		idle: "cuda:0 does not say what it has free; nothing computes there", rule: "HighVram", to: "Ram"},
	{name: "gone", after: oneDevice, hw: `device-gone: cuda:0 was there before`, idle: "GPU not available", rule: "NoDevice", to: "Cpu"},
	{name: "failed once", fake: oneDevice, after: "devices=1,bytes=1073741824,used=0,broken=cuMemGetInfo_v2", hw: `calls so far: \d+ succeeded, [1-9]\d* failed`,
		idle: idleOne, rule: "SafeVram", to: "Vram", bound: "NothingComputes"},
	{name: "little memory", fake: oneDevice, hw: `cuda:0`, idle: idleOne, rule: "SafeVram", to: "Vram", bound: "NothingComputes", flags: []string{"--budget", "ram=100MiB"}},
	{name: "no last resort", fake: oneDevice, hw: `cuda:0`, idle: idleOne, rule: "SafeVram", to: "Vram", bound: "NothingComputes", flags: []string{"--no-ssd-last-resort"}},
}

// TestDevices: whatever devices a machine has, none of which computes, hw, run, its log and
// its metrics, explain and replay say so, and nothing says that a device was chosen for work.
func TestDevices(t *testing.T) {
	t.Parallel()
	driver := fakeDriver(t)
	for _, x := range deviceSetups {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			m := deviceMachine{t, driver, t.TempDir()}
			if x.after != "" {
				m.call(x.after, "run", "hello", "-n", "2")
			}
			log := filepath.Join(m.state, "log")
			said := m.run(x.fake, append([]string{"chat", "-n", "20", "--decisions", log}, x.flags...)...)
			if n := strings.Count(said, "atenia_fallback_total{"); (n > 0) != strings.Contains(x.idle, "nothing computes") || n > 0 && !strings.Contains(said, `atenia_fallback_total{reason="`+x.idle+`"}`) {
				t.Errorf("metrics:\n%s", said)
			}
			m.checkLog(log, &x)
			if out := m.call(x.fake, "replay", log); !strings.Contains(out, "all came out the same") {
				t.Errorf("replay: %s", out)
			}
			explained := m.call(x.fake, "explain", "atenia-story")
			if idle := strings.Contains(x.idle, "nothing computes"); strings.Contains(explained, "kernels on the processor: "+x.idle) != idle || strings.Contains(explained, "would be in Vram") != (x.to == "Vram") {
				t.Errorf("explain:\n%s", explained)
			}
			if regexp.MustCompile(`GPU was selected|switch: |GPU is recommended`).MatchString(explained) {
				t.Errorf("explain tells of work on a device:\n%s", explained)
			}
			if out := m.call(x.fake, "hw", "--probe", "none"); !regexp.MustCompile(x.hw).MatchString(out) {
				t.Errorf("hw: want %s:\n%s", x.hw, out)
			}
			learned, err := os.ReadFile(filepath.Join(m.state, "atenia", defaultName))
			if err != nil || !bytes.Contains(learned, []byte("gpu_avail=0")) || bytes.Contains(learned, []byte("gpu_avail=1")) {
				t.Errorf("learned: %v, %s", err, learned)
			}
		})
	}
}

// A deviceMachine is a machine with a driver of its own, whose state is kept.
type deviceMachine struct {
	t             *testing.T
	driver, state string
}

func (m *deviceMachine) command(fake string, args ...string) *exec.Cmd {
	c := program(m.t, args...)
	c.Env = append(c.Env, "XDG_STATE_HOME="+m.state, "XDG_CACHE_HOME="+m.state)
	if fake != "" {
		c.Env = append(c.Env, "LD_LIBRARY_PATH="+m.driver, "FAKE_CUDA="+fake)
	}
	return c
}

// call runs a command, which must succeed, and returns all that it says.
func (m *deviceMachine) call(fake string, args ...string) string {
	m.t.Helper()
	out, err := m.command(fake, args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// run is call of a command that talks, and returns its metrics after an answer.
func (m *deviceMachine) run(fake string, args ...string) string {
	m.t.Helper()
	c := m.command(fake, append(args, "--metrics", "127.0.0.1:0")...)
	stderr, err := c.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	stdin, err := c.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, "hello\n"); err != nil {
		m.t.Fatal(err)
	}
	at := regexp.MustCompile(`http://\S+/metrics`)
	metrics, said := "", ""
	for r := bufio.NewScanner(stderr); r.Scan(); {
		said += r.Text() + "\n"
		if url := at.FindString(r.Text()); url != "" {
			metrics = m.get(url)
			if err := stdin.Close(); err != nil { // the end of the talk
				m.t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err != nil || metrics == "" {
		m.t.Fatalf("%q: %v: %s", args, err, said)
	}
	return metrics
}

// get returns metrics once a step was counted.
func (m *deviceMachine) get(url string) string {
	m.t.Helper()
	for {
		r, err := http.Get(url)
		if err != nil {
			m.t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			m.t.Fatal(err)
		}
		if bytes.Contains(b, []byte(`component="autoloop"`)) {
			return string(b)
		}
	}
}

// checkLog reads what was decided when the model was opened.
func (m *deviceMachine) checkLog(path string, x *deviceSetup) {
	m.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	type record struct {
		Component, Rule, Target, Reason string
		Inputs                          struct {
			Elements uint64  `json:"num_elements"`
			Size     uint32  `json:"element_size_bytes"`
			Cost     float64 `json:"estimated_compute_cost"`
		}
	}
	seen, most := map[string]int{}, 0.0
	for line := range bytes.Lines(b) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			m.t.Fatal(err)
		}
		seen[r.Component]++
		ok := true
		switch r.Component {
		case "placement":
			ok = r.Rule == x.rule && r.Target == x.to && r.Inputs.Elements > 1 && (r.Inputs.Size == 2 || r.Inputs.Size == 4)
			most = max(most, r.Inputs.Cost)
		case "binding":
			ok = r.Rule == x.bound && strings.Contains(r.Reason, x.idle)
		case "planner", "router":
			ok = r.Reason == x.idle
		case "policy", "autoloop":
			ok = r.Target != "Gpu" && !strings.Contains(r.Reason, "switch")
		}
		if !ok {
			m.t.Errorf("record %+v", r)
		}
	}
	if want := 2 * 512 * 128 * 2048 / 1e9; most < want/2 || most > 2*want { // of the largest product, with the longest step
		m.t.Errorf("the largest cost is %g, want about %g", most, want)
	}
	for _, c := range []string{"placement", "planner", "router", "graph", "policy", "trainer"} {
		if seen[c] == 0 {
			m.t.Errorf("no record of %s among %v", c, seen)
		}
	}
	if (seen["binding"] > 0) != (x.bound != "") {
		m.t.Errorf("%d records of disagreements, want %q", seen["binding"], x.bound)
	}
}

// TestNoLastResort: a model that does not fit is refused rather than read while it runs.
func TestNoLastResort(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	t.Parallel()
	dir := talkingModel(t, 2)
	args := []string{"run", dir, "hello", "-n", "1", "--ctx", "64", "--probe", "none", "--budget", "ram=110MiB,runtime=60MiB"}
	cliCall(t, append(args, "--json")...)
	var out, errs bytes.Buffer
	if code := Main(append(args, "--no-ssd-last-resort"), nil, &out, &errs); code == command.OK || !strings.Contains(errs.String(), "the slowest tier allowed is ram") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
	}
	needControlGroups(t)
	here := []string{"run", dir, "hello", "-n", "1", "--ctx", "64"}
	if l := inGroup(t, 120<<20, "", append(here, "--no-ssd-last-resort")...); l.code == command.OK || !strings.Contains(l.err, "the slowest tier allowed is ram") {
		t.Errorf("without a budget: exit code %d: %s", l.code, l.err)
	}
	if l := inGroup(t, 400<<20, "", append(here, "--no-ssd-last-resort")...); l.code != command.OK {
		t.Errorf("where it fits: exit code %d: %s", l.code, l.err)
	}
}

// TestOffloadMarks: weights leave memory from the mark on that --offload sets, and come back
// below the other; otherwise nothing moves where there is room.
func TestOffloadMarks(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	t.Parallel()
	needControlGroups(t)
	dir := talkingModel(t, 2)
	moves := func(flags ...string) int {
		t.Helper()
		log := filepath.Join(t.TempDir(), "log")
		args := append([]string{"run", dir, "hello", "-n", "20", "--ctx", "256", "--pack", "off", "--decisions", log}, flags...)
		if l := inGroup(t, 400<<20, "", args...); l.code != command.OK {
			t.Fatalf("%q: exit code %d: %s", args, l.code, l.err)
		}
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte("MoveToSsd "))
	}
	if n := moves(); n > 0 {
		t.Errorf("%d moves where there is room", n)
	}
	if n := moves("--offload", "high=0.3,low=0.2"); n == 0 {
		t.Error("nothing left memory at the mark")
	}
}
