package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden/await"
)

// childVar names the configuration that the child process of TestKill trains.
const childVar = "ATENIA_CLI_TRAIN"

// execute runs the command and returns its output.
func execute(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	json := false
	c := trainCommand(&command.Env{Out: &out, Err: &out, Progress: io.Discard, JSON: &json})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(ctx)
	return out.String(), err
}

// prepare writes a configuration and its text.
func prepare(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	text := strings.Repeat("the cat sat on the mat. the dog sat on the log. the cat saw the dog. ", 20)
	config = filepath.Join(dir, "config.toml")
	for name, s := range map[string]string{"text.txt": text, "config.toml": `
[model]
hidden = 16
layers = 2
heads = 2
[tokenizer]
kind = "chars"
[data]
files = ["text.txt"]
row = 12
rows = 3
heldout = 0.1
[optimizer]
rate = 0.01
[schedule]
warmup = 5
[train]
steps = 90
eval_every = 13
save_every = 4
threads = 2
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// trainFolder returns all files of a result but snapshots and the picture, with
// times taken out.
func trainFolder(t *testing.T, config string) map[string]string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(config), "out")
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`"seconds":[0-9.e+-]+`)
	files := map[string]string{}
	for _, e := range es {
		if e.Name() == "snapshots" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		s := string(b)
		if e.Name() == "metrics.jsonl" {
			s = times.ReplaceAllString(s, "")
		}
		files[e.Name()] = s
	}
	return files
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s differs: %d bytes, want %d\n%.300s\n%.300s", name, len(got[name]), len(w), got[name], w)
		}
	}
	if len(want) < 7 || len(got) != len(want) {
		t.Errorf("%d and %d files", len(got), len(want))
	}
}

// A command that is killed and resumed repeatedly leaves the same folder as one
// that is not, byte for byte.
func TestKill(t *testing.T) {
	if config := os.Getenv(childVar); config != "" {
		if _, err := execute(t.Context(), config, "--resume"); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	whole := prepare(t)
	if _, err := execute(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	killed, hits, lines := prepare(t), 0, 0
	logged := func() int {
		b, _ := os.ReadFile(filepath.Join(filepath.Dir(killed), "out", "metrics.jsonl"))
		return bytes.Count(b, []byte("\n"))
	}
	for hits < 5 {
		lines += 1 + rand.IntN(13) // more than any run before has logged
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childVar+"="+killed)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var over atomic.Bool
		ended := make(chan error, 1)
		go func() {
			err := cmd.Wait()
			over.Store(true)
			ended <- err
		}()
		await.Until(t, fmt.Sprintf("%d lines of the log", lines), func() bool { return logged() >= lines || over.Load() })
		cmd.Process.Kill()
		switch err := await.Value(t, "the end of the training", ended); {
		case err == nil: // it was done before the kill: nothing is shown, so once more from the start
			killed, hits, lines = prepare(t), 0, 0
		case cmd.ProcessState.ExitCode() >= 0:
			t.Fatalf("after %d kills: %v: %s", hits, err, out.String())
		default:
			hits++
		}
	}
	if _, err := execute(t.Context(), killed, "--resume"); err != nil {
		t.Fatal(err)
	}
	same(t, trainFolder(t, killed), trainFolder(t, whole))
}

// Ctrl-C leaves a snapshot and prints how to resume.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	config := prepare(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := execute(ctx, config, "--out", filepath.Join(filepath.Dir(config), "out"))
	if err == nil || !strings.Contains(err.Error(), "--resume") && !strings.Contains(err.Error(), "canceled") {
		t.Fatalf("got %v", err)
	}
	out, err := execute(t.Context(), config, "--resume")
	if err != nil || !strings.Contains(out, "is ready") {
		t.Errorf("%s: %v", out, err)
	}
}

// A run with a checkpoint starts from its tensors, wherever their bytes are.
func TestTrainFromCheckpoint(t *testing.T) {
	config := prepare(t)
	dir := filepath.Dir(config)
	if out, err := execute(t.Context(), config, "--steps", "9", "--out", filepath.Join(dir, "one")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	still := filepath.Join(dir, "still.toml") // a rate that changes nothing
	if err := os.WriteFile(still, bytes.ReplaceAll(text, []byte("rate = 0.01"), []byte("rate = 1e-30")), 0o666); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "one", "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"", "--in-place"} {
		saved, out := filepath.Join(dir, "saved"+how), filepath.Join(dir, "two"+how)
		args := []string{"checkpoint", "save", filepath.Join(dir, "one"), saved}
		if how != "" {
			args = append(args, how)
		}
		cliCall(t, args...)
		if text, err := execute(t.Context(), still, "--steps", "1", "--out", out, "--checkpoint", saved); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		got, err := os.ReadFile(filepath.Join(out, "model.safetensors"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: the model is not the one of the checkpoint: %v", how, err)
		}
	}
	other := filepath.Join(dir, "other")
	cliCall(t, "checkpoint", "save", storyFile(t), other)
	if _, err := execute(t.Context(), still, "--steps", "1", "--out", filepath.Join(dir, "three"), "--checkpoint", other); err == nil || !strings.Contains(err.Error(), "not a checkpoint of the model that is trained") {
		t.Errorf("another model: %v", err)
	}
}

// TestResumedRecipe: a run goes on as it was begun. A recipe that differs is an error
// that names each key with both values; what may change does.
func TestResumedRecipe(t *testing.T) {
	t.Parallel()
	config := prepare(t)
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	begun := strings.Replace(string(b), "steps = 90", "steps = 8", 1)
	const anew = "there is nothing to resume in "
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(begun)
	if text, err := execute(t.Context(), config, "--resume"); err != nil || !strings.Contains(text, anew) {
		t.Fatalf("nothing to resume: %v: %s", err, text)
	}
	for _, c := range []struct{ from, to, want string }{
		{"heads = 2", "heads = 1", "model.heads is 1 and was 2"},
		{"threads = 2", "threads = 2\nseed = 77", "train.seed is 77 and was 0"},
		{"row = 12", "row = 11", "data.row is 11 and was 12"},
		{"rate = 0.01", "rate = 0.01\nkind = 'lion'", "optimizer.kind is lion and was adamw"},
		{"rate = 0.01", "rate = 0.01\nbeta2 = 0.5", "optimizer.beta2 is 0.5 and was 0.95"},
		{"rate = 0.01", "rate = 0.01\nbeta2 = 0.95\nbeta1 = 0.9", ""},
		{"rate = 0.01", "rate = 0.01\noffload = true", "optimizer.offload is true and was false"},
		{"heldout = 0.1", "heldout = 0.4", "data.heldout is 0.4 and was "},
		{"steps = 8", "steps = 9", ""},
		{"rate = 0.01", "rate = 0.02", ""},
	} {
		s := strings.Replace(begun, c.from, c.to, 1)
		write(s)
		if text, err := execute(t.Context(), config, "--resume"); strings.Contains(text, anew) || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("resumed with %q: %v, want %q", c.to, err, c.want)
		}
	}
}

// TestResumedBase: a fine-tuning goes on with the model that it was begun with, which may
// have moved, and refuses another of the same name.
func TestResumedBase(t *testing.T) {
	t.Parallel()
	config := prepare(t)
	dir := filepath.Dir(config)
	for name, seed := range map[string]string{"a": "1", "b": "2"} {
		b, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, name+".toml")
		if err := os.WriteFile(other, []byte(strings.Replace(string(b), "threads = 2", "seed = "+seed, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := execute(t.Context(), other, "--steps", "1", "--out", filepath.Join(dir, name, "base")); err != nil {
			t.Fatal(err)
		}
	}
	tune := func(base string, more ...string) error {
		var out, errw bytes.Buffer
		args := append([]string{"finetune", filepath.Join(dir, base), filepath.Join(dir, "text.txt"), "--row", "8", "--out", filepath.Join(dir, "tuned")}, more...)
		if code := Main(args, strings.NewReader(""), &out, &errw); code != command.OK {
			return errors.New(errw.String())
		}
		return nil
	}
	if err := tune("a/base", "--steps", "1"); err != nil {
		t.Fatal(err)
	}
	const want = "model.from is a model with fingerprint "
	if err := tune("b/base", "--steps", "2", "--resume"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), " and was a model with fingerprint ") {
		t.Errorf("another model: %v, want %q", err, want)
	}
	if err := os.Rename(filepath.Join(dir, "a", "base"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := tune("moved", "--steps", "2", "--resume", "--lora", "r=8,alpha=16"); err != nil {
		t.Errorf("the same model elsewhere: %v", err)
	}
	// Another text of the same name and size is another, too.
	text, err := os.ReadFile(filepath.Join(dir, "text.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "text.txt"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tune("moved", "--steps", "3", "--resume", "--lora", "r=8,alpha=16"); err == nil || !strings.Contains(err.Error(), "data.files is [text.txt with fingerprint ") {
		t.Errorf("another text: %v", err)
	}
}

// TestLeftoversOfKilled: a training removes what a killed one left of files that it was
// writing, as soon as it begins.
func TestLeftoversOfKilled(t *testing.T) {
	config := prepare(t)
	out := filepath.Join(t.TempDir(), "out")
	left := []string{".model.safetensors.tmp-0000beef", "snapshots/.step-000000002.safetensors.tmp-0000beef", "state/.journal.json.tmp-0000beef"}
	for _, name := range left {
		path := filepath.Join(out, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = os.WriteFile(path, []byte("half"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // before the model is written, which would remove it, too
	if text, err := execute(ctx, config, "--out", out); err == nil {
		t.Fatal(text)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(out, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// TestTrainIntoLinks: files that a training gives their names replace links, which a
// folder from elsewhere may have, and nothing is written to what they point to.
func TestTrainIntoLinks(t *testing.T) {
	config := prepare(t)
	out, victim := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "victim")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tokenizer.json", "config.json", "model.safetensors", "loss.png"} {
		if err := os.Symlink(victim, filepath.Join(out, name)); err != nil {
			t.Skip(err)
		}
	}
	if text, err := execute(t.Context(), config, "--out", out, "--steps", "4"); err != nil {
		t.Fatal(text, err)
	}
	if b, err := os.ReadFile(victim); string(b) != "precious" {
		t.Errorf("a file outside of the folder was written: %.20q, %v", b, err)
	}
	for _, name := range []string{"tokenizer.json", "config.json", "model.safetensors", "loss.png"} {
		if st, err := os.Lstat(filepath.Join(out, name)); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}

// TestModelThatCannotBeWritten: a training whose model cannot be written at the end says
// where it is kept, and --resume writes it without another step.
func TestModelThatCannotBeWritten(t *testing.T) {
	config := prepare(t)
	out := filepath.Join(t.TempDir(), "out")
	model := filepath.Join(out, "model.safetensors")
	if err := os.MkdirAll(filepath.Join(model, "in the way"), 0o777); err != nil {
		t.Fatal(err)
	}
	args := []string{config, "--out", out, "--steps", "4"}
	if _, err := execute(t.Context(), args...); err == nil || !strings.Contains(err.Error(), "is kept in") || !strings.Contains(err.Error(), "--resume") {
		t.Fatalf("%v, want where the model is", err)
	}
	if err := os.RemoveAll(model); err != nil {
		t.Fatal(err)
	}
	text, err := execute(t.Context(), append(args, "--resume")...)
	if err != nil {
		t.Fatal(text, err)
	}
	if st, err := os.Stat(model); err != nil || st.Size() == 0 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestTakenFolder: a training that is refused because its folder has another one leaves
// that as it was.
func TestTakenFolder(t *testing.T) {
	config := prepare(t)
	if text, err := execute(t.Context(), config, "--steps", "4"); err != nil {
		t.Fatal(text, err)
	}
	was := trainFolder(t, config)
	text := filepath.Join(filepath.Dir(config), "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("other letters: xyzw, and more of them. ", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := execute(t.Context(), config, "--steps", "4"); err == nil {
		t.Fatal(text)
	}
	if now := trainFolder(t, config); !maps.Equal(was, now) {
		t.Error("the refused training changed the folder")
	}
}

// TestTrainDecisions: a training in memory records where its backward passes ran, too, and
// "atenia replay" reproduces that. The result is that of a training without a log.
func TestTrainDecisions(t *testing.T) {
	config := prepare(t)
	dir := filepath.Dir(config)
	log, lines := filepath.Join(dir, "decisions"), filepath.Join(dir, "timeline")
	for _, args := range [][]string{{}, {"--out", filepath.Join(dir, "logged"), "--decisions", log, "--timeline", lines}} {
		if out, err := execute(t.Context(), append([]string{config, "--steps", "2"}, args...)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	read := func(name ...string) string {
		b, err := os.ReadFile(filepath.Join(name...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	traces := strings.Count(read(log), `"component":"autograd","rule":"AsRequested"`)
	if n := strings.Count(read(lines), "AUTOGRAD node="); traces < 4 || n != traces || !strings.Contains(read(log), "Skipped model.layers.1: already in target tier") {
		t.Errorf("%d traces and %d lines: %.600s", traces, n, read(log))
	}
	if out := cliCall(t, "replay", log); !strings.Contains(string(out), fmt.Sprint(2*traces)) {
		t.Errorf("%s", out)
	}
	if read(dir, "out", "model.safetensors") != read(dir, "logged", "model.safetensors") {
		t.Error("the log changed the model")
	}
}
