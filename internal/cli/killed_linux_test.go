package cli

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"atenia/place"
)

// TestExplainKilled: explain does not tell the account of an older run as that of the last
// one, if that one was killed, computed nothing or still runs; and of two runs at once the
// end of one says nothing about the other.
func TestExplainKilled(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	const without = "the last run of atenia-story, "
	tells := func(begins, later string, args ...string) {
		t.Helper()
		code, out, errs := runExplain(args...)
		if code != 0 || errs != "" || !strings.HasPrefix(out, begins) || strings.Contains(out, "with an account") != (later != "") || !strings.Contains(out, later) {
			t.Errorf("exit %d, want %q and %q, got %.300s%s", code, begins, later, out, errs)
		}
	}
	begin := func() (kill func()) {
		t.Helper()
		c := program(t, "chat", "--ignore-eos", "-n", "8")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, "Once upon a time\n"); err != nil {
			t.Fatal(err)
		}
		firstByte(t, out) // of an answer, after which it waits for another line
		return func() {
			if err := c.Process.Kill(); err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(io.Discard, out)
			if err := c.Wait(); err == nil {
				t.Error("a chat that was killed ended well")
			}
		}
	}
	whole := func() { cliCall(t, "run", "Once upon a time", "-n", "4", "--temp", "0") }
	begin()()
	code, _, errs := runExplain("atenia-story")
	if want := "no run is on record: " + without; code != 1 || !strings.Contains(errs, want) || !strings.Contains(errs, "left no account") {
		t.Errorf("exit %d, %s", code, errs)
	}
	whole()
	tells("last run of atenia-story", "")
	first := begin()
	tells("a run of atenia-story, ", "has not ended yet")
	second := begin()
	first()
	tells("a run of atenia-story, ", "has not ended yet")
	second()
	for _, args := range [][]string{nil, {"atenia-story"}} {
		tells(without, "left no account: it was killed", args...)
	}
	var r place.LastRun
	if callJSON(t, &r, "explain"); r.Later == nil || r.Later.Model != "atenia-story" || r.Later.Running || r.Later.Started < r.Started {
		t.Errorf("%+v", r.Later)
	}
	older := begin()
	whole()
	tells("last run of atenia-story", "")
	older()
	tells("last run of atenia-story", "") // the one that was killed had begun before
	if code := Main([]string{"run", strings.Repeat("Once ", 5000)}, strings.NewReader(""), io.Discard, io.Discard); code != 1 {
		t.Errorf("a prompt that is too long: exit %d", code)
	}
	tells(without, "ended before it computed anything")
	whole()
	if left, err := filepath.Glob(filepath.Join(dir, "atenia", "runs", "*.open")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
