package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
)

// TestFloorsHere: in a control group that is too small to stream a model, what is said of
// it is true: it is mapped up to a context, a longer prompt is refused and nothing is
// killed, and no budget is advised that would be refused.
func TestFloorsHere(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	t.Parallel()
	needControlGroups(t)
	dir := talkingModel(t, 2)
	const group, tokens = 112 << 20, "16384"
	long := strings.Repeat("hello ", 15000)
	usual := []string{"--ctx", tokens, "--probe", "none"}
	run := func(input string, args ...string) limited {
		t.Helper()
		return inGroup(t, group, input, append(append([]string{"run", dir, "-n", "1"}, args...), usual...)...)
	}
	room := regexp.MustCompile(`have room for (\d+) of ` + tokens + ` tokens`)
	doctor := inGroup(t, group, "", append([]string{"doctor", dir}, usual...)...)
	m := room.FindStringSubmatch(doctor.out)
	if doctor.code != command.OK || m == nil || !strings.Contains(doctor.out, " maps in ") || !strings.Contains(doctor.out, "--ctx ") {
		t.Fatalf("doctor: exit code %d: %s%s", doctor.code, doctor.out, doctor.err)
	}
	if n, _ := strconv.Atoi(m[1]); n < 16 || n > 15000 {
		t.Errorf("room for %d tokens", n)
	}
	// Prompts of about 4,400 tokens and of more than any model here has room for are refused by
	// the figure that the note says, or a page or two more.
	refused := regexp.MustCompile(`a prompt of [^\n]*(?:does not fit a context|keys and values) of (\d+)`)
	for _, prompt := range []string{long[:9000], long} {
		l := run(prompt)
		said, at := room.FindStringSubmatch(l.err), refused.FindStringSubmatch(l.err)
		if l.code != command.Failure || said == nil || at == nil {
			t.Errorf("%d bytes of prompt: exit code %d: %s", len(prompt), l.code, l.err)
			continue
		}
		told, _ := strconv.Atoi(said[1])
		if n, _ := strconv.Atoi(at[1]); n < told || n > told+64 {
			t.Errorf("%d bytes of prompt: room for %d tokens, and refused at %d", len(prompt), told, n)
		}
	}
	if l := run("hello"); l.code != command.OK {
		t.Errorf("a short prompt: exit code %d: %s", l.code, l.err)
	}
	if l := run(long, "--no-mmap"); l.code == command.OK || l.code == -1 || l.code == 137 {
		t.Errorf("a long prompt without mapping: exit code %d: %s", l.code, l.err)
	}
	for _, budget := range []string{"1GiB", strconv.Itoa(group), "90MiB"} {
		l := run("hello", "--budget", "ram="+budget)
		if l.code != command.BadUsage || strings.Contains(l.err, "the least that works") || !strings.Contains(l.err, "no budget of a size works here") || !strings.Contains(l.err, "or without a budget, the model is mapped") {
			t.Errorf("ram=%s: exit code %d: %s", budget, l.code, l.err)
		}
	}
	if l := run("hello", "--budget", "ram=auto"); l.code != command.OK {
		t.Errorf("ram=auto, which is told to work: exit code %d: %s", l.code, l.err)
	}
}

// TestFloorsInside: of the model that is part of the program, and cannot be streamed, doctor,
// plan and run say the same: below what the process takes it is refused, above it is mapped,
// and no text is said to be refused that is not.
func TestFloorsInside(t *testing.T) {
	t.Parallel()
	needControlGroups(t)
	usual := []string{"--ctx", "256", "--probe", "none"}
	ask := func(group int64, args ...string) limited {
		t.Helper()
		return inGroup(t, group, "", append(args, usual...)...)
	}
	doctor := ask(48<<20, "doctor", "atenia-story")
	m := regexp.MustCompile(`at least [^(]*\((\d+) bytes\)`).FindStringSubmatch(doctor.out)
	if doctor.code != command.BadResult || m == nil || !strings.Contains(doctor.out, " cannot run in ") {
		t.Fatalf("doctor: exit code %d: %s%s", doctor.code, doctor.out, doctor.err)
	}
	for _, budget := range [][]string{nil, {"--budget", "ram=auto"}} {
		if run := ask(48<<20, append([]string{"run", "hello", "-n", "1"}, budget...)...); run.code != command.Failure || !strings.Contains(run.err, m[0]) {
			t.Errorf("run %q below the floor: exit code %d: %s, want %q", budget, run.code, run.err, m[0])
		}
	}
	floor, _ := strconv.ParseInt(m[1], 10, 64)
	group := floor + 4<<20 // of which the system takes some
	if doctor = ask(group, "doctor", "atenia-story"); doctor.code != command.OK || !strings.Contains(doctor.out, " maps in ") {
		t.Errorf("doctor above the floor: exit code %d: %s%s", doctor.code, doctor.out, doctor.err)
	}
	for _, budget := range [][]string{nil, {"--budget", "ram=auto"}} {
		run := ask(group, append([]string{"run", "hello", "-n", "200", "--seed", "1"}, budget...)...)
		if run.code != command.OK || !strings.Contains(run.err, "is needed for it all to stay in memory") || strings.Contains(run.err, "refused") {
			t.Errorf("run %q above the floor: exit code %d: %s", budget, run.code, run.err)
		}
	}
}

// TestNotesInside: above the floor of the embedded model, at the least in which it all stays in
// memory and around, no note says that less is needed than can be allocated.
func TestNotesInside(t *testing.T) {
	t.Parallel()
	needControlGroups(t)
	run := []string{"run", "hello", "-n", "8", "--ctx", "512", "--kv-type", "f16", "--probe", "none"}
	note := regexp.MustCompile(`([0-9.]+ MiB) can be allocated, and ([0-9.]+ MiB) \(\d+ bytes\) is needed`)
	notes, silent := 0, 0
	for group := int64(64 << 20); group <= 78<<20; group += 1 << 19 {
		l := inGroup(t, group, "", run...)
		m := note.FindStringSubmatch(l.err)
		switch {
		case m != nil && sizeOf(t, m[1]) >= sizeOf(t, m[2]):
			t.Errorf("in %d bytes: %s", group, l.err)
		case m != nil:
			notes++
		case l.code == command.OK:
			silent++
		}
	}
	if notes == 0 || silent == 0 {
		t.Errorf("%d groups with a note, %d without", notes, silent)
	}
}

// TestDoctorBatchBytes: what doctor says that a token reads is a token's share of what a pass of
// several sequences reads, as plan says it.
func TestDoctorBatchBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	t.Parallel()
	dir := talkingModel(t, 2)
	var doctor struct {
		Verdict string
		SSD     int64 `json:"ssd_bytes"`
	}
	var plan struct {
		Plan struct {
			Decode struct {
				SSD float64 `json:"ssd_bytes"`
			}
		}
	}
	usual := []string{"--batch", "4", "--ctx", "256", "--ram-rate", "10GiB", "--ssd-rate", "1GiB", "--json"}
	for _, x := range []struct {
		to   any
		args []string
	}{{&doctor, []string{"doctor", dir, "--budget", "ram=110MiB,runtime=60MiB"}}, {&plan, []string{"plan", dir, "--ram", "110MiB", "--reserve", "runtime=60MiB"}}} {
		if err := json.Unmarshal(cliCall(t, append(x.args, usual...)...), x.to); err != nil {
			t.Fatal(err)
		}
	}
	if step := int64(plan.Plan.Decode.SSD); doctor.Verdict != "streams" || step == 0 || doctor.SSD != step/4 {
		t.Errorf("%s, a token reads %d bytes and a pass of 4 tokens %d", doctor.Verdict, doctor.SSD, step)
	}
}

// TestPackedAsPlanned: in a control group with room for one sequence beside packed
// weights, weights are packed, by a run as by the plan for what there is.
func TestPackedAsPlanned(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	t.Parallel()
	needControlGroups(t)
	dir := talkingModel(t, 2)
	const group = 320 << 20
	const packs = "the packed form fits the memory"
	args := []string{"--ctx", "8192", "--probe", "none"}
	plan := inGroup(t, group, "", append([]string{"plan", dir, "--ram", "auto"}, args...)...)
	run := inGroup(t, group, "", append([]string{"run", dir, "hello", "-n", "1", "--stats"}, args...)...)
	if plan.code != command.OK || !strings.Contains(plan.out, packs) {
		t.Errorf("plan: exit code %d: %s%s", plan.code, plan.out, plan.err)
	}
	if run.code != command.OK || !regexp.MustCompile(`(?m)^ +packed `).MatchString(run.err) {
		t.Errorf("run: exit code %d: %s", run.code, run.err)
	}
}

// TestDoctorInProcessLimit: where the process may have little data, what doctor measures
// the machine with takes less, and it tells its verdict.
func TestDoctorInProcessLimit(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(golden.Family(t, "parity"), "llama3")
	c := exec.CommandContext(t.Context(), "/bin/sh", "-c", `ulimit -d 300000 && exec "$0" "$@"`, self, "doctor", model)
	c.Env = append(os.Environ(), programVar+"=1", "XDG_CACHE_HOME="+t.TempDir())
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), " fits in ") {
		t.Errorf("%v: %s", err, out)
	}
}
