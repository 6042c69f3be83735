package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden/await"
)

// endingNode is a node in C that ends the process in a call, by how: _exit(3), exit(0), a null write, abort.
const endingNode = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "amp.h"
static const char *ports[] = {"in", "out"};
static const amp_node_info_t nodes[] = {{sizeof(amp_node_info_t), AMP_CAP_STATELESS | AMP_CAP_F64, "Ending", 1, 0, 1, 1, 0, AMP_JAC_DENSE, 0, ports}};
static const amp_library_info_t info = {sizeof(amp_library_info_t), AMP_ABI_MAJOR, AMP_ABI_MINOR, 1, "test", "1", nodes};
const amp_library_info_t *amp_library_info(const amp_host_t *host) { (void)host; return &info; }
static int calls;
int amp_run_node(const amp_node_descriptor_t *d, amp_state_t **state, const amp_buffer_t *in, amp_buffer_t *out) {
	(void)state;
	memcpy(out->data, in->data, (d->dtype == AMP_F64 ? 8 : 4) * out->frames * out->channels * out->batches);
	if (++calls == CALL) END;
	return 0;
}
`

// endingLibrary builds it.
func endingLibrary(t *testing.T, call int, end string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatal("C nodes are tested with gcc, which is not here")
		}
		t.Skip("SKIPPED: nodes in C are not tested, there is no gcc")
	}
	path := filepath.Join(t.TempDir(), "ending.amp.so")
	c := exec.CommandContext(t.Context(), gcc, "-std=gnu99", "-O1", "-fPIC", "-shared", "-I", filepath.Join("..", "..", "include"), fmt.Sprint("-DCALL=", call), "-DEND="+end, "-x", "c", "-", "-o", path)
	c.Stdin = strings.NewReader(endingNode)
	if b, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return path
}

// endingPlan is a graph with the node.
func endingPlan(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, []byte(`{"nodes":[{"name":"osc","type":"Oscillator"},{"name":"shaper","type":"Ending","supports_v2":false},{"name":"out","type":"Probe"}],
		"edges":[{"source":"osc","target":"shaper"},{"source":"shaper","target":"out"}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEndingNode: a trusted node that ends the process is named, with its library and how it did that; the exit status
// is that of a failure, and there is no file under the output's name.
func TestEndingNode(t *testing.T) {
	p := endingPlan(t)
	for _, c := range []struct {
		call      int
		end, want string
		more      []string
	}{
		{1, "_exit(3)", "ended the process: exit status 3", nil},
		{100, "_exit(3)", "ended the process: exit status 3", nil},
		{100, "_exit(0)", "ended the process: exit status 0", []string{"--realtime", "--limit", "1m"}},
		{100, "exit(2)", "ended the process: exit status 2", []string{"--f64", "--threads", "3"}},
		{100, "*(volatile int *)0 = 1", "crashed: segmentation fault", nil},
		{1, "*(volatile int *)0 = 1", "crashed: segmentation fault", []string{"--realtime", "--limit", "1m"}},
		{7, "abort()", "crashed: aborted", nil},
	} {
		lib, wave := endingLibrary(t, c.call, c.end), filepath.Join(t.TempDir(), "out.wav")
		cmd := program(t, append([]string{"flow", "run", p, "--seconds", "0.5", "--out", wave, "--nodes", lib, "--trust", lib}, c.more...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		_ = cmd.Run()
		want := fmt.Sprintf("atenia: node \"shaper\" (%s) %s\n", lib, c.want)
		if code := cmd.ProcessState.ExitCode(); code != command.Failure || !strings.HasPrefix(errs.String(), want) || !strings.Contains(errs.String(), "without --trust") || strings.Count(errs.String(), "\n") != 2 {
			t.Errorf("%s in call %d, %v: exit %d\n%s\nwant %s", c.end, c.call, c.more, code, errs.String(), want)
		}
		if _, err := os.Stat(wave); err == nil {
			t.Errorf("%s in call %d: there is a file", c.end, c.call)
		}
	}
}

// TestWatchedPasses: what a watched command prints, writes and returns is its own, and so is what a signal does to it.
func TestWatchedPasses(t *testing.T) {
	p, lib := endingPlan(t), endingLibrary(t, 0, "abort()")
	wave := filepath.Join(t.TempDir(), "out.wav")
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"flow", "run", p, "--seconds", "0.1", "--out", wave, "--nodes", lib, "--trust", lib}, command.OK, "blocks of 64 frames"},
		{[]string{"flow", "run", p, "--nodes", lib, "--trust", lib}, command.BadUsage, "--seconds"},
		{[]string{"flow", "run", p, "--seconds", "-1", "--nodes", lib, "--trust=" + lib}, command.BadUsage, "no negative numbers"},
	} {
		cmd := program(t, c.args...)
		b, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(b), c.text) {
			t.Errorf("%v: exit %d\n%s", c.args, code, b)
		}
	}
	if i, err := os.Stat(wave); err != nil || i.Size() < 4800*4 {
		t.Error(err)
	}
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		lines  int
	}{{syscall.SIGINT, 130, 1}, {syscall.SIGTERM, 143, 1}, {syscall.SIGKILL, -1, 0}} {
		out := filepath.Join(t.TempDir(), "out.wav")
		cmd := program(t, "flow", "run", p, "--seconds", "600", "--realtime", "--limit", "1m", "--out", out, "--nodes", lib, "--trust", lib)
		errs, err := os.Create(filepath.Join(t.TempDir(), "errors"))
		if err != nil {
			t.Fatal(err)
		}
		defer errs.Close()
		cmd.Stderr = errs // a file, so that Wait does not wait for the child of one that was killed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "a child that has loaded the library", func() bool { return runsTrusted(lib) })
		if err := cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		await.Until(t, "the end of the child", func() bool { return !runsTrusted(lib) })
		text, err := os.ReadFile(errs.Name())
		if got := cmd.ProcessState.ExitCode(); err != nil || got != c.code || c.lines > 0 && bytes.Count(text, []byte("\n")) != c.lines {
			t.Errorf("%v: exit %d, %v\n%s", c.signal, got, err, text)
		}
	}
}

// runsTrusted reports whether a process that trusts a library has loaded it.
func runsTrusted(lib string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		maps, _ := os.ReadFile(filepath.Join(dir, "maps"))
		if bytes.Contains(args, []byte("--trust\x00"+lib)) && bytes.Contains(maps, []byte(lib)) {
			return true
		}
	}
	return false
}
