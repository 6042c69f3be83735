package durable_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// alone fails if the folder holds any file except the named one.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"one", "", strings.Repeat("long ", 1<<20)} {
		if err := durable.WriteFile(path, text(want)); err != nil {
			t.Fatal(err)
		}
		if content(t, path) != want {
			t.Fatal("other content")
		}
	}
	alone(t, path)
}

func TestModeAndLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if err := durable.WriteFile(link, text("new")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(link)
	if err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", st, err)
	}
	if st, err := os.Stat(real); err != nil || st.Mode().Perm() != 0o640 || content(t, real) != "new" {
		t.Errorf("real file: %v, %v", st, err)
	}
}

// TestReplace: a link is replaced by the file, and what it points to stays, or stays away.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	victim, link, dangling := filepath.Join(dir, "victim"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(victim, link), os.Symlink(filepath.Join(dir, "new"), dangling)); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{link, dangling, link, filepath.Join(dir, "fresh")} {
		if err := durable.Replace(path, text("new")); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() || content(t, path) != "new" {
			t.Errorf("%s: %v, %v", path, st, err)
		}
	}
	if content(t, victim) != "mine" {
		t.Error("the link was followed")
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dangling link was followed: %v", err)
	}
	if err := durable.Replace(dir, text("x")); err == nil {
		t.Error("a folder was replaced")
	}
}

func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	if err := durable.WriteFile(dir, text("x")); err == nil {
		t.Error("a folder was replaced")
	}
	if err := durable.WriteFile(filepath.Join(dir, "no", "file"), text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// If any call fails, or is the last of a killed process, the file is the old one
// or the new one; an error leaves no temporary file.
func TestEveryCallFails(t *testing.T) {
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Torn, faultfs.Full, faultfs.Stop} {
		for n, fsys := range faultfs.Each(fault) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := durable.WriteFileIn(fsys, path, text(strings.Repeat("new ", 1<<20)))
			fsys.PowerCut()
			got := content(t, path)
			if got != "old" && got != strings.Repeat("new ", 1<<20) {
				t.Fatalf("fault %d, call %d: %d torn bytes", fault, n, len(got))
			}
			if hit := fsys.Hit(); hit && fault != faultfs.Full && err == nil || !hit && (err != nil || got == "old") {
				t.Errorf("fault %d, call %d: %v and %d bytes", fault, n, err, len(got))
			}
			if fault == faultfs.Fail && fsys.Hit() && !errors.Is(err, faultfs.ErrInjected) {
				t.Errorf("call %d: error %v", n, err)
			}
			if fault != faultfs.Stop {
				alone(t, path)
			}
			if n > 100 {
				t.Fatal("no end of calls")
			}
		}
	}
}

// childVar names the file that the child process of TestKill rewrites.
const childVar = "ATENIA_DURABLE_CHILD"

// whole is content that proves itself: 32 bytes of checksum, then the rest.
func whole(version byte) []byte {
	body := bytes.Repeat([]byte{version}, 100_000)
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// A process that is killed while it repeatedly rewrites a file leaves a complete
// one. Kills fall between two pieces of the content, and around its sync and its
// renaming.
func TestKill(t *testing.T) {
	if path := os.Getenv(childVar); path != "" {
		fsys := faultfs.New(0, faultfs.Fail).Tell(os.Stdout)
		for v := byte(0); ; v++ {
			fmt.Println("begin")
			if err := durable.WriteFileIn(fsys, path, func(w io.Writer) error {
				b := whole(v)
				for len(b) > 0 {
					n, err := w.Write(b[:min(len(b), 1000)])
					if err != nil {
						return err
					}
					fmt.Println("piece")
					b = b[n:]
				}
				return nil
			}); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("end")
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, whole(0), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := 0
	for _, sign := range []struct {
		n      int
		prefix string
	}{{1, "begin"}, {150, "piece"}, {2, "end"}, {3, "begin"}, {20, "call "}, {21, "call "}, {22, "call "}, {23, "call "}} {
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childVar+"="+path)
		lines := await.Kill(t, cmd, await.Nth(sign.n, sign.prefix))
		if lines[len(lines)-1] != "end" {
			inside++
		}
		b := []byte(content(t, path))
		if len(b) < 33 || !bytes.Equal(b, whole(b[32])) {
			t.Fatalf("killed after %q: the file is %d torn bytes", lines[len(lines)-1], len(b))
		}
	}
	if inside == 0 {
		t.Error("no kill met a write")
	}
}
