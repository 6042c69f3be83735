package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
)

// A limited is the end of a process in a control group.
type limited struct {
	code     int // -1 = by a signal
	out, err string
	peak     int64 // bytes of the resident set
}

// inGroup runs the command line in a process of a group with so much memory; 0 is
// no group.
func inGroup(t *testing.T, limit int64, input string, args ...string) limited {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	if limit > 0 {
		g, err := newControlGroup(limit)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := g.remove(); err != nil {
				t.Error(err)
			}
		}()
		// The shell joins before it becomes the program, whose first byte is counted.
		script := `echo $$ > "$0" && exec "$@"`
		c = exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", script, filepath.Join(g.dir, "cgroup.procs"), self}, args...)...)
	}
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &out, &errs
	peak := filepath.Join(t.TempDir(), "peak")
	c.Env = append(os.Environ(), programVar+"=1", peakVar+"="+peak, "XDG_CACHE_HOME="+t.TempDir())
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	l := limited{code: c.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
	if b, err := os.ReadFile(peak); err == nil { // there is none if it was killed, or told to end by the guard
		if l.peak, err = strconv.ParseInt(string(b), 10, 64); err != nil {
			t.Error(err)
		}
	}
	return l
}

// needControlGroups skips a test where no group can be made. In a test of a whole
// machine that is only so where this process may not.
func needControlGroups(t *testing.T) {
	t.Helper()
	g, err := newControlGroup(64 << 20)
	switch {
	case err == nil:
		if err := g.remove(); err != nil {
			t.Fatal(err)
		}
	case os.Getenv("ATENIA_CI") == "", errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrNotExist):
		t.Skip("no control group can be made: ", err)
	default:
		t.Fatal("no control group can be made: ", err)
	}
}

// sharedModels holds who writes a model that [sharedModel] shares.
var sharedModels sync.Mutex

// sharedModel is [bigModel] in a folder of the test's own, with the weights of the first
// one of so many layers, which is written once and none may write to.
func sharedModel(t *testing.T, layers int) string {
	t.Helper()
	sharedModels.Lock()
	defer sharedModels.Unlock()
	kept := filepath.Join(os.Getenv("XDG_STATE_HOME"), fmt.Sprint("layers", layers)) // ends with the process, see [TestMain]
	dir, names := t.TempDir(), []string{"config.json", "model.safetensors"}
	if _, err := os.Stat(kept); err != nil {
		dir = bigModel(t, layers)
		err = os.Mkdir(kept, 0o700)
		for _, name := range names {
			err = errors.Join(err, os.Link(filepath.Join(dir, name), filepath.Join(kept, name)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, name := range names {
		if err := os.Link(filepath.Join(kept, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// talkingModel is a model of 33.5 MB for each layer, with a tokenizer and a chat template.
func talkingModel(t *testing.T, layers int) string {
	t.Helper()
	dir := sharedModel(t, layers)
	from := filepath.Join(golden.Family(t, "parity"), "llama3")
	if err := os.CopyFS(filepath.Join(dir, "text"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	b, err := os.ReadFile(filepath.Join(dir, "text", "tokenizer_config.json"))
	if err == nil {
		err = json.Unmarshal(b, &config)
	}
	config["chat_template"] = "{% for m in messages %}{{ m.content }} {% endfor %}"
	b, err2 := json.Marshal(config)
	if err := errors.Join(err, err2, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), b, 0o600),
		os.Rename(filepath.Join(dir, "text", "tokenizer.json"), filepath.Join(dir, "tokenizer.json")), os.RemoveAll(filepath.Join(dir, "text"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLimits: in control groups that are smaller than the model, no command is
// killed or has more memory than the group, the model is streamed without being
// asked for, and says the same as without a limit.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 302 MB, many times")
	}
	t.Parallel() // its programs have groups of their own
	needControlGroups(t)
	layers, limits := 9, []int64{256}
	if await.Long() {
		layers, limits = 18, []int64{256, 500}
	}
	dir := talkingModel(t, layers)
	usual := []string{"--ctx", "64", "-t", "2"}
	talk := append([]string{"--temp", "0", "-n", "2"}, usual...)
	const streams = "are streamed from disk"
	type task struct {
		input   string
		args    []string
		says    string // on standard error, once
		compare string // with the output of a task without a limit
	}
	tasks := map[string]task{
		"run":     {"", append([]string{"run", dir, "hello", "--stats"}, talk...), streams, "run"},
		"packed":  {"", append([]string{"run", dir, "hello", "--pack", "memory"}, talk...), streams, "run"},
		"budget":  {"", append([]string{"run", dir, "hello", "--budget", "ram=2GiB"}, talk...), "can be allocated: continuing with ram=", "run"},
		"mapped":  {"", append([]string{"run", dir, "hello", "--no-stream"}, talk...), "", "run"},
		"chat":    {"hello\n", append([]string{"chat", dir}, talk...), streams, "chat"},
		"logits":  {"", append([]string{"logits", dir, "--tokens", "1,2,3", "--json"}, usual...), streams, "logits"},
		"bench":   {"", append([]string{"bench", dir, "-p", "8", "-n", "2", "-r", "1"}, usual...), streams, ""},
		"memory":  {"", []string{"bench", "mem", "-r", "1"}, "", ""},
		"kernels": {"", []string{"bench", "kernels", "--rounds", "1", "--format", "q8_0", "--only", "decode"}, "", ""},
		"doctor":  {"", []string{"doctor"}, "", ""},
		"plan":    {"", append([]string{"plan", dir, "--ram", "200MiB"}, usual[:2]...), "", ""},
		"train":   {"", []string{"train", prepare(t), "--out", filepath.Join(t.TempDir(), "out"), "--overwrite"}, "", ""},
	}
	data := filepath.Join(t.TempDir(), "data.jsonl")
	if err := os.WriteFile(data, bytes.Repeat([]byte(`{"text": "hello hello hello hello hello hello"}`+"\n"), 8), 0o600); err != nil {
		t.Fatal(err)
	}
	free := map[string]string{}
	for name, x := range tasks {
		if x.compare == name {
			free[name] = inGroup(t, 0, x.input, x.args...).out
		}
	}
	for _, mib := range limits {
		for name, x := range tasks {
			l := inGroup(t, mib<<20, x.input, x.args...)
			if l.code != command.OK {
				t.Errorf("%d MiB, %s: exit code %d: %s", mib, name, l.code, l.err)
				continue
			}
			if name != "mapped" && l.peak > mib<<20 {
				t.Errorf("%d MiB, %s: the process had %d bytes", mib, name, l.peak)
			}
			if x.says != "" && strings.Count(l.err, x.says) != 1 || x.says != streams && strings.Contains(l.err, streams) {
				t.Errorf("%d MiB, %s says %q", mib, name, l.err)
			}
			if want := free[x.compare]; x.compare != "" && (l.out != want || l.out == "") {
				t.Errorf("%d MiB, %s: %.200q, without a limit %.200q", mib, name, l.out, want)
			}
			if name == "run" {
				checkUse(t, mib<<20, l.err)
			}
		}
		// What has no room is an error with both numbers.
		for name, args := range map[string][]string{
			"bench train-offload": {"bench", "train-offload", "--layers", "40", "--width", "2048"},
			"finetune":            {"finetune", dir, data, "--out", filepath.Join(t.TempDir(), "tuned")},
		} {
			l := inGroup(t, mib<<20, "", args...)
			if l.code != command.Failure || !regexp.MustCompile(`B are needed, .*B of .*B are free|at least .*B of memory, .*B are there`).MatchString(l.err) {
				t.Errorf("%d MiB, %s: exit code %d: %s", mib, name, l.code, l.err)
			}
		}
	}
}

// checkUse: a placement that nobody asked for uses at least nine tenths of the
// group, and the process never had more than the placement.
func checkUse(t *testing.T, limit int64, stats string) {
	t.Helper()
	f := regexp.MustCompile(`ram bytes +(\d+) +(\d+)`).FindStringSubmatch(stats)
	if f == nil {
		t.Errorf("no bytes of RAM in %q", stats)
		return
	}
	planned, _ := strconv.ParseInt(f[1], 10, 64)
	actual, _ := strconv.ParseInt(f[2], 10, 64)
	if planned*10 < limit*9 || planned > limit || actual > planned {
		t.Errorf("%d bytes: %d were planned, %d were used", limit, planned, actual)
	}
}

// TestOneFloor: the least that "plan" accepts is the least that "run" accepts, and
// the error of a byte less has both numbers.
func TestOneFloor(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	dir := sharedModel(t, 2)
	floor := int64(1)
	for range 3 { // the first is found from far below
		for flag, args := range map[string][]string{
			"--ram ":        {"plan", dir, "--ctx", "32", "--probe", "none", "--ram"},
			"--budget ram=": {"logits", dir, "--ctx", "32", "--tokens", "1", "--probe", "none", "--budget"},
		} {
			with := func(n int64) limited {
				value := strconv.FormatInt(n, 10)
				if strings.HasSuffix(flag, "ram=") {
					value = "ram=" + value
				}
				return inGroup(t, 0, "", append(args[:len(args):len(args)], value)...)
			}
			l := with(floor)
			if m := regexp.MustCompile(`at least .* \((\d+) bytes\)`).FindStringSubmatch(l.err); floor == 1 && m != nil {
				floor, _ = strconv.ParseInt(m[1], 10, 64)
				l = with(floor)
			}
			if l.code != command.OK {
				t.Fatalf("%s%d: exit code %d: %s", flag, floor, l.code, l.err)
			}
			if l := with(floor - 1); l.code != command.BadUsage || !strings.Contains(l.err, "the least that works is "+flag+strconv.FormatInt(floor, 10)+"\n") {
				t.Errorf("%s%d: exit code %d: %s", flag, floor-1, l.code, l.err)
			}
		}
	}
}

// TestMapsAsTold: where doctor says that a mapped model has room for whole contexts, which
// takes short steps, it has that when it is opened.
func TestMapsAsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB")
	}
	needControlGroups(t)
	const bounded = "longer texts are refused"
	args := []string{sharedModel(t, 2), "--ctx", "2048", "--probe", "none"}
	doctor := append([]string{"doctor"}, args...)
	none := inGroup(t, 48<<20, "", doctor...)
	m := regexp.MustCompile(`at least .* \((\d+) bytes\) is needed because the model is mapped`).FindStringSubmatch(none.out)
	if m == nil {
		t.Fatalf("exit code %d: %s%s", none.code, none.out, none.err)
	}
	// Keys and values of 2048 tokens have 32 MiB, buffers for steps of 512 have 20 MiB more
	// than for those of 32, and the system takes some.
	floor, _ := strconv.ParseInt(m[1], 10, 64)
	limit := floor + 41<<20
	if l := inGroup(t, limit, "", doctor...); l.code != command.OK || !strings.Contains(l.out, " maps in ") || strings.Contains(l.out, bounded) {
		t.Fatalf("exit code %d: %s%s", l.code, l.out, l.err)
	}
	l := inGroup(t, limit, "", append([]string{"logits", "--tokens", "1,2"}, args...)...)
	if l.code != command.OK || !strings.Contains(l.err, "it is mapped") || strings.Contains(l.err, bounded) {
		t.Errorf("exit code %d: %s", l.code, l.err)
	}
}

// TestDataLimit: by a limit of data, which counts what is mapped and the stacks of threads
// before they are used, a model is streamed as in a control group, and ends with its logits.
func TestDataLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 302 MB")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-c", `ulimit -d 450000 && exec "$0" "$@"`, self, "logits", sharedModel(t, 9), "--tokens", "1,2,3", "--ctx", "64", "-t", "2", "--probe", "none"}
	c := exec.CommandContext(t.Context(), "/bin/sh", args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr, c.Env = &out, &errs, append(os.Environ(), programVar+"=1", "XDG_CACHE_HOME="+t.TempDir())
	if err := c.Run(); err != nil || out.Len() == 0 || !strings.Contains(errs.String(), "are streamed from disk") {
		t.Errorf("%v: %s", err, errs.String())
	}
}
