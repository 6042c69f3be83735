package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"atenia/internal/cli/command"
	"atenia/internal/store/durable"
)

// disk mounts a disk of a size.
func disk(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("no file system can be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullHome: an answer is complete although nothing can be kept about it, and what
// could not be kept is said, but with --quiet. What was asked for is an error.
func TestFullHome(t *testing.T) {
	dir := disk(t, "8k")
	for name := range 3 { // pages
		_ = os.WriteFile(filepath.Join(dir, strconv.Itoa(name)), make([]byte, 4096), 0o600)
	}
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", "")
	for flag, want := range map[string]int{"": command.OK, filepath.Join(dir, "mine"): command.Failure} {
		args := []string{"run", "Once", "-n", "4"}
		if flag != "" {
			args = append(args, "--learning", flag)
		}
		var out, errw bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errw)
		if code != want || out.Len() < 10 || !strings.Contains(errw.String(), "warning: not kept: ") || !strings.Contains(errw.String(), "no space left") {
			t.Errorf("%v: exit %d, %s, %s", args, code, out.String(), errw.String())
		}
	}
	for _, args := range [][]string{{"run", "Once", "-n", "4"}, {"logits", "Once"}, {"bench", "-p", "4", "-n", "2", "-r", "1"}} {
		var out, errw bytes.Buffer
		Main(append(args, "--quiet"), strings.NewReader(""), &out, &errw)
		if strings.Contains(errw.String(), "warning") || strings.Contains(errw.String(), "no space left") || args[0] == "run" && (out.Len() < 10 || errw.Len() > 0) {
			t.Errorf("%v --quiet: %s, %s", args, out.String(), errw.String())
		}
	}
}

// TestSmallDisk: what a disk cannot hold is refused with both numbers before it is begun,
// and nothing of it is left there.
func TestSmallDisk(t *testing.T) {
	dir := disk(t, "1m")
	for _, n := range []int64{1 << 30, 1 << 20} {
		if err := durable.Fits(nil, filepath.Join(dir, "a", "b"), n); !errors.Is(err, durable.ErrSpace) {
			t.Errorf("%d bytes on a disk of a mebibyte: %v", n, err)
		}
	}
	if err := durable.Fits(nil, dir, 1<<18); err != nil {
		t.Error(err)
	}
	config := prepare(t)
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(b), "hidden = 16", "hidden = 256", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"quantize", "atenia-story", filepath.Join(dir, "q8.gguf"), "--type", "q8_0"},
		{"train", config, "--out", filepath.Join(dir, "out")},
	} {
		var out, errw bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errw)
		said := errw.String()
		if code != command.Failure || !strings.Contains(said, "will be written, and its disk has 1.00 MiB") && !strings.Contains(said, "will be written, and its disk has 0.") {
			t.Errorf("%v: %d %s", args, code, said)
		}
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 0 {
		t.Errorf("left: %v, %v", es, err)
	}
}
