// Package await lets tests wait for signs instead of for time: a line in a log,
// an open port, a value on a channel. The one deadline is the test's own
// (-timeout), so a busy machine makes a test slower and never red; shortly
// before it the test fails with the name of the sign that did not come.
//
//	await.Until(t, "the server's address", func() bool { return address() != "" })
//	r := await.Value(t, "an answer", answers)
//
// Only tests import this package. It is the one place where tests sleep between
// two looks at something that cannot tell by itself that it has changed.
package await

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// margin is left of the test's time to report what did not come, and to clean up.
const margin = 15 * time.Second

// pause lies between two looks at a sign.
const pause = time.Millisecond

// Until returns as soon as ok is true, and fails the test shortly before its
// deadline. A test without one (-timeout 0) waits as long as it takes.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := deadline(t)
	for !ok() {
		select {
		case <-late:
			t.Fatalf("the test's time is over without %s", what)
		case <-time.After(pause):
		}
	}
}

// Value returns the next value of c, or the zero value once c is closed.
func Value[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-deadline(t):
		t.Fatalf("the test's time is over without %s", what)
		panic("unreachable")
	}
}

// Kill starts a process and kills it when it has printed a line of which sign
// says so, and returns all its lines: the last one tells in what it was
// interrupted. A process that prints by [Step] is killed at that very line; any
// other may have gone on meanwhile. A process that ends by itself fails the
// test, since no kill has met it. Its folder for temporary files is the test's.
func Kill(t testing.TB, cmd *exec.Cmd, sign func(line string) bool) (lines []string) {
	t.Helper()
	cmd.Env = append(cmd.Environ(), "TMPDIR="+t.TempDir()) // what it leaves there goes with the test
	out, err := cmd.StdoutPipe()
	var in io.WriteCloser
	if err == nil {
		in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	killed := false
	if end, ok := testDeadline(t); ok { // a process without a sign does not end
		late := time.AfterFunc(time.Until(end), func() { _ = cmd.Process.Kill() })
		defer late.Stop()
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		lines = append(lines, s.Text())
		if !killed && sign(s.Text()) {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		} else if !killed {
			_, _ = in.Write([]byte{'\n'}) // one that does not wait for it may be gone
		}
	}
	if err := cmd.Wait(); !killed || cmd.ProcessState.Exited() {
		t.Fatalf("%v: no sign came before the process ended (%v), or the test's time, after %d lines: %q", cmd.Args, err, len(lines), lines[max(0, len(lines)-10):])
	}
	return lines
}

// Step is standard output for a process under [Kill]: each line that is written
// to it is printed, and returns when the process may go on.
var Step io.Writer = step{}

type step struct{}

func (step) Write(line []byte) (int, error) {
	n, err := os.Stdout.Write(line)
	if err == nil {
		_, err = os.Stdin.Read(make([]byte, 1))
	}
	return n, err
}

// Nth is a sign: the n-th line, from 1, that begins with prefix.
func Nth(n int, prefix string) func(line string) bool {
	return func(line string) bool {
		if strings.HasPrefix(line, prefix) {
			n--
		}
		return n == 0
	}
}

// Number returns the number behind prefix in the first line that begins with it, 0 if
// there is none.
func Number(lines []string, prefix string) (n int) {
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, prefix); ok {
			_, _ = fmt.Sscan(rest, &n)
			break
		}
	}
	return n
}

// testDeadline returns when a test is to give up what it waits for, shortly before its
// own deadline; false if it has none, as benchmarks have.
func testDeadline(t testing.TB) (time.Time, bool) {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}, false
	}
	end, ok := d.Deadline()
	return end.Add(-margin), ok
}

// deadline sends when the test has no more time to wait; nil never does.
func deadline(t testing.TB) <-chan time.Time {
	end, ok := testDeadline(t)
	if !ok {
		return nil
	}
	return time.After(time.Until(end))
}

// Long reports whether the long forms of tests are wanted, as they run at night:
// whole trainings instead of the fewest steps that show each fault.
func Long() bool { return os.Getenv("ATENIA_LONG") != "" }
