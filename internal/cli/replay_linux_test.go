package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
)

// TestReplayTruth: only a log that was closed is whole. One of a run that was
// killed, that still runs, that lost a line, or of another program, is not.
func TestReplayTruth(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	log := filepath.Join(dir, "d.jsonl")
	args := []string{"run", "Once upon a time", "--budget", "ram=500MiB", "--decisions", log}
	replayed := func(text string) (code int, message string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		c := program(t, "replay", filepath.Join(dir, "x.jsonl"))
		var errw bytes.Buffer
		c.Stderr = &errw
		_ = c.Run() // the code says it
		return c.ProcessState.ExitCode(), errw.String()
	}
	read := func() string {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	cmd := program(t, append(args, "--ignore-eos", "-n", "100000")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	firstByte(t, out)
	if code, text := replayed(read()); code != command.BadResult || !strings.Contains(text, "no end mark") {
		t.Errorf("of a run that is not over: %d, %s", code, text)
	}
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	if code, text := replayed(read()); code != command.BadResult || !strings.Contains(text, "no end mark") || !strings.Contains(text, "records before were made again") {
		t.Errorf("of a run that was killed: %d, %s", code, text)
	}

	killed := strings.Count(read(), "\n")
	if err := program(t, append(args, "-n", "2")...).Run(); err != nil {
		t.Fatal(err)
	}
	whole := read()
	if code, text := replayed(whole); code != 0 || text != "" || strings.Count(whole, "\n") <= killed+1 {
		t.Errorf("of two runs: %d, %s, %d lines after %d", code, text, strings.Count(whole, "\n"), killed)
	}
	for _, c := range []struct{ log, text string }{
		{"", "it is empty"},
		{"GGUF\x03", "no log of decisions"},
		{"{\"learning\":1}\n", "no log of decisions"},
		{whole[:len(whole)/2], "no end mark"},
		{whole[:strings.LastIndex(whole[:len(whole)-1], "\n")+1], "no end mark"},
		{whole + whole, "something follows"},
		{strings.Replace(whole, `"Ram"`, `"Ssd"`, 1), "came out differently"},
		{whole[:strings.Index(whole, "\n")+1] + whole[strings.LastIndex(whole[:len(whole)-1], "\n")+1:], "it counts"},
	} {
		if code, text := replayed(c.log); code != command.BadResult || !strings.Contains(text, c.text) {
			t.Errorf("want %q, got %d, %s", c.text, code, text)
		}
	}
}
