package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
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

// TestFullInTheMiddle: a training whose disk is filled by others goes on to the next
// snapshot, and its model is written where there is room.
func TestFullInTheMiddle(t *testing.T) {
	small := disk(t, "1m")
	config := prepare(t)
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(b), "save_every = 4", "save_every = 80", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	out := filepath.Join(small, "out")
	started := false
	fill := writerFunc(func(b []byte) (int, error) {
		if !started && strings.Contains(string(b), "step") {
			started = true
			f, err := os.Create(filepath.Join(small, "filler"))
			if err != nil {
				t.Error(err)
			} else if _, err := io.Copy(f, zeros{}); err == nil {
				t.Error("the disk has no end")
			}
		}
		return len(b), nil
	})
	var errw bytes.Buffer
	code := Main([]string{"train", config, "--out", out}, strings.NewReader(""), fill, &errw)
	said := errw.String()
	there, _ := filepath.Glob(filepath.Join(os.TempDir(), "atenia-trained-*"))
	if code != command.Failure || len(there) != 1 || !strings.Contains(said, "cannot be saved at step 80, no snapshot of it is kept") || !strings.Contains(said, "the model of this step is in "+there[0]) {
		t.Fatalf("exit %d, %s, %q, %t", code, said, there, started)
	}
	var answer, told bytes.Buffer
	if code := Main([]string{"run", there[0], "the cat", "-n", "4"}, strings.NewReader(""), &answer, &told); code != command.OK || answer.Len() == 0 {
		t.Errorf("exit %d, %s%s", code, &answer, &told)
	}
}

// TestSpaceOfMerged: a disk with room for an adapter, but not for the merged model, is
// refused that before training begins.
func TestSpaceOfMerged(t *testing.T) {
	base, texts := filepath.Join(golden.Family(t, "parity"), "llama3"), filepath.Join(filepath.Dir(prepare(t)), "text.txt")
	for merge, want := range map[string]int{"--merge=true": command.Failure, "--merge=false": command.OK} {
		out := filepath.Join(disk(t, "1200k"), "out")
		var said bytes.Buffer
		code := Main([]string{"finetune", base, texts, "--row", "8", "--steps", "2", merge, "--out", out}, strings.NewReader(""), io.Discard, &said)
		if code != want || want == command.Failure && !strings.Contains(said.String(), "1.44 MiB will be written, and its disk has 1.17 MiB") {
			t.Errorf("%s: exit %d, %s", merge, code, &said)
		}
		if _, err := os.Stat(filepath.Join(out, "adapter_config.json")); (err == nil) != (want == command.OK) {
			t.Errorf("%s: %v", merge, err)
		}
	}
}

// TestSpaceAsked: whatever writes a folder or a file knows before it begins that a disk with
// nine tenths of what it will have cannot hold it, and leaves nothing there.
func TestSpaceAsked(t *testing.T) {
	base := filepath.Join(golden.Family(t, "parity"), "llama3")
	config := prepare(t)
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	wide := strings.NewReplacer("hidden = 16", "hidden = 128", "steps = 90", "steps = 1", "warmup = 5", "warmup = 0").Replace(string(b))
	files := filepath.Join(filepath.Dir(config), "files.toml")
	err = errors.Join(os.WriteFile(config, []byte(wide), 0o600),
		os.WriteFile(files, []byte(strings.Replace(wide, "[optimizer]", "[optimizer]\noffload = true", 1)), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"train":      {"train", config, "--out"},
		"offload":    {"train", files, "--out"},
		"finetune":   {"finetune", base, filepath.Join(filepath.Dir(config), "text.txt"), "--full", "--row", "8", "--steps", "1", "--out"},
		"quantize":   {"quantize", base, "--type", "q8_0"},
		"checkpoint": {"checkpoint", "save", base},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(dir string) (code int, said string) {
				var errw bytes.Buffer
				code = Main(append(slices.Clone(args), filepath.Join(dir, "out.gguf")), strings.NewReader(""), io.Discard, &errw)
				return code, errw.String()
			}
			roomy := t.TempDir()
			if code, said := run(roomy); code != command.OK {
				t.Fatalf("exit %d, %s", code, said)
			}
			size := int64(0)
			err := filepath.WalkDir(roomy, func(_ string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				st, err := e.Info()
				size += st.Size()
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			small := disk(t, strconv.FormatInt(size*9/10, 10))
			code, said := run(small)
			if code != command.Failure || !strings.Contains(said, "will be written, and its disk has ") {
				t.Errorf("%d bytes are written: exit %d, %s", size, code, said)
			}
			if es, err := os.ReadDir(small); err != nil || len(es) != 0 {
				t.Errorf("left: %v, %v", es, err)
			}
		})
	}
}

// writerFunc is a function that is written to.
type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestHardwareReadOnly: a cache folder of nobody's choice that cannot be made costs a
// report of the machine a warning.
func TestHardwareReadOnly(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", blocked)
	for _, args := range [][]string{{"hw"}, {"hw", "--json"}, {"hw", "--cache-dir", filepath.Join(blocked, "atenia")}} {
		var out, errw bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errw)
		if named := len(args) > 2; (code == command.OK) == named || strings.Contains(errw.String(), "warning") == named || out.Len() == 0 {
			t.Errorf("%v: exit %d, %s", args, code, &errw)
		}
	}
}
