package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"atenia/internal/cli/command"
	"atenia/internal/golden/await"
	"atenia/internal/store/durable"
)

// program starts this test as the command line, see [TestMain].
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), programVar+"=1")
	return c
}

// firstByte waits until a program has printed something.
func firstByte(t *testing.T, r io.Reader) {
	t.Helper()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// TestSignals ends processes while they work and while they wait.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		args   []string
		signal syscall.Signal
		code   int
		text   string
		waits  bool // for input, having printed nothing
	}{
		{[]string{"run", "Once upon a time", "--ignore-eos"}, syscall.SIGINT, 130, "atenia: interrupted\n", false},
		{[]string{"run", "Once upon a time", "--ignore-eos"}, syscall.SIGTERM, 143, "atenia: terminated\n", false},
		{[]string{"run"}, syscall.SIGINT, 130, "atenia: interrupted\n", true},
		{[]string{"chat"}, syscall.SIGINT, 130, "atenia: interrupted\n", true},
		{[]string{"chat"}, syscall.SIGTERM, 143, "atenia: terminated\n", true},
	} {
		cmd := program(t, c.args...)
		var errw bytes.Buffer
		cmd.Stderr = &errw
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		r, in, err := os.Pipe() // open, with never a whole line
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if c.waits {
			if _, err := in.WriteString("x"); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "a program that reads its input", func() bool {
				left, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ)
				if err != nil {
					t.Fatal(err)
				}
				return left == 0
			})
		} else {
			firstByte(t, out)
		}
		if err := cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, out)
		_ = cmd.Wait() // the code says it
		r.Close()
		in.Close()
		if code := cmd.ProcessState.ExitCode(); code != c.code || errw.String() != c.text {
			t.Errorf("%q, %v: exit %d, %q", c.args, c.signal, code, errw.String())
		}
	}
}

// TestSignalCleansUp: a run that is stopped leaves its snapshot, and no
// unfinished file.
func TestSignalCleansUp(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c.toml")
	text := strings.Repeat("the cat sat on the mat. ", 100)
	for name, s := range map[string]string{"c.toml": "[model]\nhidden = 16\nlayers = 1\nheads = 2\n[tokenizer]\nkind = 'chars'\n[data]\nfiles = ['t.txt']\nrow = 16\nrows = 2\n[train]\nsteps = 1000000\n", "t.txt": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := program(t, "train", config)
	var errw bytes.Buffer
	cmd.Stderr = &errw
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	firstByte(t, out)
	await.Until(t, "a step of the training", func() bool {
		fi, err := os.Stat(filepath.Join(dir, "out", "metrics.jsonl"))
		return err == nil && fi.Size() > 0
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	_ = cmd.Wait()
	snapshots, _ := filepath.Glob(filepath.Join(dir, "out", "snapshots", "*"))
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(errw.String(), "--resume") || len(snapshots) == 0 {
		t.Errorf("exit %d, %q, snapshots %q", code, errw.String(), snapshots)
	}
}

// TestStoppedQuila: a training of a network that is stopped goes on with --resume, as what
// it was begun; one that has nothing to go on with says so.
func TestStoppedQuila(t *testing.T) {
	dir := t.TempDir()
	config, kept := filepath.Join(dir, "least.json"), filepath.Join(dir, "run")
	if err := os.WriteFile(config, []byte(`{"N":2,"D":16,"H":4,"a":2,"s":2,"d1":4,"d2":4,"deg":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"quila", "train", "--config", config, "--batch", "1", "--window", "4", "--dir", kept, "--resume"}
	call := func(more ...string) (int, string) {
		var out, errw bytes.Buffer
		code := Main(append(args, more...), strings.NewReader(""), &out, &errw)
		return code, errw.String()
	}
	const anew = "to resume: it begins anew"
	if code, said := call("--stop-at", "1"); code != command.OK || !strings.Contains(said, anew) {
		t.Fatalf("exit %d, %s", code, said)
	}
	path := filepath.Join(kept, "*.checkpoint")
	first, _ := filepath.Glob(path)
	if len(first) != 1 {
		t.Fatalf("a run that was stopped after a step has the checkpoints %q", first)
	}
	was, err := os.ReadFile(first[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, append(args, "--steps", "100000000", "--checkpoint-every", "1")...)
	var errw bytes.Buffer
	cmd.Stderr = &errw
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a step of the training", func() bool {
		b, err := os.ReadFile(first[0])
		return err == nil && !bytes.Equal(b, was)
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(errw.String(), "--resume") || strings.Contains(errw.String(), anew) {
		t.Errorf("exit %d, %q", code, errw.String())
	}
	if code, said := call("--seed", "5", "--batch", "2"); code != command.Failure || !strings.Contains(said, "batch is 2 and was 1, seed is 5 and was 0") {
		t.Errorf("exit %d, %s", code, said)
	}
}

// TestIdlePipe: with a prompt, standard input is not read.
func TestIdlePipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := program(t, "run", "Once upon a", "--temp", "0", "-n", "2")
	cmd.Stdin = r
	done := make(chan error, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		if err == nil && string(out) != "Once upon a time,\n" {
			err = fmt.Errorf("it prints %q", out)
		}
		done <- err
	}()
	if err := await.Value(t, "the end of the run", done); err != nil {
		t.Error(err)
	}
}

// TestTerminalSignal: at the prompt a signal ends a chat and restores the
// terminal.
func TestTerminalSignal(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		s := newScreen(t)
		cmd := program(t, "chat")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, s.tty, s.tty
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.wait("> ")
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%v: exit %d", signal, code)
		}
		state, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
		if err != nil || state.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != unix.ICANON|unix.ECHO|unix.ISIG {
			t.Errorf("%v: the terminal is left raw: %+v (%v)", signal, state, err)
		}
	}
}

// TestLockedFolder: a training in a folder that another process has says so at once, and
// a signal ends the wait.
func TestLockedFolder(t *testing.T) {
	config := prepare(t)
	out := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	release, err := durable.Lock(filepath.Join(out, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	cmd := program(t, "train", config, "--out", out)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "another process works in "+out) {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(string(rest), "interrupted") {
		t.Errorf("exit %d, %q", code, rest)
	}
}

// TestSecondSignal: a patient command that does not return after a signal, here because
// nobody reads what it prints, ends at the second.
func TestSecondSignal(t *testing.T) {
	config := prepare(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd := int(w.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for page := make([]byte, 4096); err == nil; {
		_, err = unix.Write(fd, page)
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "train", config)
	var errw bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errw
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	writes := fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE)
	await.Until(t, "a training whose output is not read", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", cmd.Process.Pid))
		for _, name := range threads {
			b, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrPermission) {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				t.Skip(err)
			}
			if strings.HasPrefix(string(b), writes) {
				return true
			}
		}
		return false
	})
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 && code != 143 || !strings.HasPrefix(errw.String(), "atenia: ") {
		t.Errorf("exit %d, %q", code, errw.String())
	}
}
