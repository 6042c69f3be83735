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

// TestFullAtTheEnd: a training whose network or model cannot be written, because the disk
// is full when it is done, says where it is kept, and --resume to a place with room writes
// it.
func TestFullAtTheEnd(t *testing.T) {
	call := func(args ...string) (int, string) {
		var out, errw bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errw)
		return code, errw.String()
	}
	fill := func(dir string) {
		f, err := os.Create(filepath.Join(dir, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := io.Copy(f, zeros{}); err == nil {
			t.Fatal("the disk has no end")
		}
	}
	small := disk(t, "64k")
	fill(small)
	least := filepath.Join(t.TempDir(), "least.json")
	if err := os.WriteFile(least, []byte(`{"N":2,"D":16,"H":4,"a":2,"s":2,"d1":4,"d2":4,"deg":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	quila := []string{"quila", "train", "--config", least, "--steps", "2", "--stop-at", "1", "--batch", "1", "--window", "4"} // a stop is evaluated on no text
	kept := filepath.Join(t.TempDir(), "run")
	full := filepath.Join(small, "n.sxlm")
	code, said := call(append(quila, "--dir", kept, "--out", full)...)
	if code != command.Failure || !strings.Contains(said, "no space left") || !strings.Contains(said, "kept in the checkpoints of "+kept) {
		t.Errorf("exit %d, %s", code, said)
	}
	code, said = call(append(quila, "--dir", filepath.Join(small, "run"), "--out", full)...)
	if code != command.Failure || !strings.Contains(said, "will be written, and its disk has 0.00 MiB") {
		t.Errorf("exit %d, %s", code, said)
	}
	out := filepath.Join(t.TempDir(), "n.sxlm")
	if code, said = call(append(quila, "--dir", kept, "--resume", "--out", out)...); code != command.OK {
		t.Errorf("exit %d, %s", code, said)
	}
	if st, err := os.Stat(out); err != nil || st.Size() == 0 {
		t.Error(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	code, said = call(append(quila, "--out", full)...)
	there, _ := filepath.Glob(filepath.Join(os.TempDir(), "quila-trained-*", "n.sxlm"))
	if code != command.Failure || len(there) != 1 || !strings.Contains(said, there[0]) {
		t.Errorf("exit %d, %s, %q", code, said, there)
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
