package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/cli/command"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/store/blob"
)

const resumePrompt = "Once upon a time there was a little dog who liked to run in the park with"

// resumed runs a prompt with a checkpoint and returns tokens, what was said on
// standard error, and the exit code.
func resumed(t *testing.T, model, prompt, dir string, more ...string) (ids []int32, said string, code int) {
	t.Helper()
	var out, errw bytes.Buffer
	args := append([]string{"run", model, prompt, "-n", "20", "--temp", "0", "--json", "--checkpoint", dir}, more...)
	code = Main(args, strings.NewReader(""), &out, &errw)
	var got struct{ IDs []int32 }
	if code == command.OK {
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return got.IDs, errw.String(), code
}

// storyFile writes the embedded model as a file.
func storyFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "story.gguf")
	cliCall(t, "quantize", "atenia-story", path, "--type", "f32", "--json")
	return path
}

// "checkpoint save" and "run --checkpoint" work on one folder: the second run
// continues what the first one computed, with the same tokens, also within
// a budget, and what is wanted where survives.
func TestResume(t *testing.T) {
	model := storyFile(t)
	for name, save := range map[string][]string{"nothing": nil, "copied": {"--ram", "2MiB"}, "in place": {"--in-place"}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "saved")
			var want struct{ IDs []int32 }
			text := cliCall(t, "run", model, resumePrompt, "-n", "20", "--temp", "0", "--json")
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if save != nil {
				cliCall(t, append([]string{"checkpoint", "save", model, dir}, save...)...)
			}
			for i, more := range [][]string{nil, nil, {"--budget", "ram=120MiB,runtime=40MiB", "--probe", "none"}, {"--pack", "off"}} {
				got, said, code := resumed(t, model, resumePrompt, dir, more...)
				if code != command.OK || !slices.Equal(got, want.IDs) {
					t.Fatalf("run %d: exit %d, %v, want %v\n%s", i, code, got, want.IDs, said)
				}
				if i > 0 && !strings.Contains(said, "39 tensors, 5.25 MiB, restored lazily; 1 conversation of 32 tokens remembered") {
					t.Errorf("run %d: %s", i, said)
				}
				if i == 2 && !strings.Contains(said, "39 of 39 weights in their tier within the budget") {
					t.Errorf("run %d: %s", i, said)
				}
			}
			cliCall(t, "checkpoint", "verify", dir)
			m, err := checkpoint.Read(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range m.Entries {
				if e.Hint.Desired == nil || !e.Hint.HasSummary || (e.Blob == nil) == (e.Source == nil) {
					t.Errorf("entry %+v has no intent, or not one place of its bytes", e)
				}
			}
		})
	}
}

// A checkpoint that cannot be used is refused or its use is left out, and in
// either case nothing of it is lost.
func TestResumeRefused(t *testing.T) {
	t.Parallel() // it waits for a lock
	model, dir := storyFile(t), filepath.Join(t.TempDir(), "saved")
	want, _, _ := resumed(t, model, resumePrompt, dir)
	manifest := func() string {
		b, err := os.ReadFile(filepath.Join(dir, checkpoint.Name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := manifest()
	refused := func(model, why string) {
		t.Helper()
		if _, said, code := resumed(t, model, "x", dir); code != command.Failure || !strings.Contains(said, why) {
			t.Errorf("exit %d: %s, want %q", code, said, why)
		}
		if manifest() != before {
			t.Error("the refused checkpoint was changed")
		}
	}
	refused("atenia-story", "name another folder for this model")
	release, err := checkpoint.Lock(t.Context(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	refused(model, "another process has used this checkpoint")
	if err := release(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "checkpoint.*.model"))
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	refused(model, "the file was cut or edited")
	if err := os.WriteFile(files[0], whole, 0o666); err != nil {
		t.Fatal(err)
	}

	// Damaged pages are computed again, and mended.
	bins, _ := filepath.Glob(filepath.Join(dir, "cache", "tensor", "tensor_kv*.bin"))
	if len(bins) != 1 {
		t.Fatalf("%d files of the conversation", len(bins))
	}
	b, err := os.ReadFile(bins[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 1
	if err := os.WriteFile(bins[0], b, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, said, code := resumed(t, model, resumePrompt, dir); code != command.OK || !slices.Equal(got, want) {
		t.Errorf("damaged pages: exit %d, %v, want %v: %s", code, got, want, said)
	}
	cliCall(t, "checkpoint", "verify", dir)

	// A model that was written since is computed again.
	now := time.Now()
	if err := os.Chtimes(model, now, now); err != nil {
		t.Fatal(err)
	}
	if got, said, _ := resumed(t, model, resumePrompt, dir); !slices.Equal(got, want) || !strings.Contains(said, "were written since") {
		t.Errorf("a file that was written since: %v, want %v: %s", got, want, said)
	}
}

// The cache of a checkpoint keeps what the manifest around it names, unless that
// is asked for by name.
func TestCollectKeepsNamed(t *testing.T) {
	model, dir := storyFile(t), filepath.Join(t.TempDir(), "saved")
	elsewhere := filepath.Join(t.TempDir(), "other")
	cache := filepath.Join(dir, "cache")
	cliCall(t, "checkpoint", "save", model, dir)
	cliCall(t, "checkpoint", "save", model, elsewhere, "--cache", cache)
	c, err := blob.OpenCache(cache, blob.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Put(blob.Tensor, "unnamed", make([]byte, 1000), 0, false); err != nil {
		t.Fatal(err)
	}
	out, err := cacheRun(t, false, "gc", cache, "--quota", "1KiB")
	if err != nil || !strings.Contains(out, "removed 1 entry") || c.Exists(blob.Tensor, "unnamed") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.Remove(filepath.Join(dir, checkpoint.Name)); err != nil {
		t.Fatal(err)
	}
	if out, err := cacheRun(t, false, "gc", cache, "--quota", "1KiB"); err != nil || !strings.Contains(out, "removed 0 entries") {
		t.Errorf("registered: %v: %s", err, out)
	}
	cliCall(t, "checkpoint", "verify", elsewhere, "--cache", cache)
	if out, err := cacheRun(t, false, "gc", cache, "--quota", "1KiB", "--remove-named"); err != nil || strings.Contains(out, "removed 0 entries") {
		t.Errorf("by name: %v: %s", err, out)
	}
}

// TestResumedEpisode: what could not be restored as it was saved is a part of the first episode
// that the run after it learns from.
func TestResumedEpisode(t *testing.T) {
	dir, learning := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "learning")
	model := storyFile(t)
	run := func(file string) string {
		t.Helper()
		if _, said, code := resumed(t, model, resumePrompt, dir, "--learning", file); code != command.OK {
			t.Fatalf("exit code %d: %s", code, said)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if run(learning); !strings.Contains(run(learning+"2"), ";drift=0") {
		t.Error("drift where all was restored")
	}
	path := filepath.Join(dir, "checkpoint.meta")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(b, []byte("\ntier=ram\n"), []byte("\ntier=vram\n"), 1)
	edited = bytes.Replace(edited, []byte("\ndesired_tier=ram\n"), []byte("\ndesired_tier=vram\n"), 1)
	if err := os.WriteFile(path, edited, 0o666); err != nil {
		t.Fatal(err)
	}
	if learned := run(learning + "3"); !strings.Contains(learned, ";drift=1") {
		t.Errorf("no drift in %s of\n%s", learned, edited[:min(len(edited), 600)])
	}
}

// "checkpoint save" replaces no bytes that the cache has of another model, unless it is
// told to; what a checkpoint needs stays then, too.
func TestCheckpointTaken(t *testing.T) {
	model, dir := storyFile(t), filepath.Join(t.TempDir(), "saved")
	cache := filepath.Join(dir, "cache")
	cliCall(t, "checkpoint", "save", model, dir)
	cliCall(t, "checkpoint", "save", model, dir) // the same bytes are no other ones
	b, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-2] ^= 1
	if err := os.WriteFile(model, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{dir, filepath.Join(t.TempDir(), "other")} {
		var out, errw bytes.Buffer
		args := []string{"checkpoint", "save", model, to, "--cache", cache}
		if code := Main(args, strings.NewReader(""), &out, &errw); code != command.Failure || !strings.Contains(errw.String(), "already exists; nothing was replaced: name another DIR or --cache, or say --overwrite") {
			t.Fatalf("exit %d: %s%s", code, out.String(), errw.String())
		}
		cliCall(t, "checkpoint", "verify", dir)
		if out := cliCall(t, append(args, "--overwrite")...); !strings.Contains(string(out), "1 written to the cache") {
			t.Errorf("%s", out)
		}
		cliCall(t, "checkpoint", "verify", dir)
		cliCall(t, "checkpoint", "verify", to, "--cache", cache)
		b[len(b)-2] ^= 2 // the next one is another again
		if err := os.WriteFile(model, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A checkpoint that is damaged can be saved over.
func TestCheckpointMended(t *testing.T) {
	model, dir := storyFile(t), filepath.Join(t.TempDir(), "saved")
	cliCall(t, "checkpoint", "save", model, dir)
	bins, err := filepath.Glob(filepath.Join(dir, "cache", "tensor", "*norm*.bin"))
	if err != nil || len(bins) == 0 {
		t.Fatal(bins, err)
	}
	if err := errors.Join(os.Remove(bins[0]), os.Truncate(filepath.Join(dir, checkpoint.Name), 100)); err != nil {
		t.Fatal(err)
	}
	if out := cliCall(t, "checkpoint", "save", model, dir); !strings.Contains(string(out), "1 written to the cache") {
		t.Errorf("%s", out)
	}
	cliCall(t, "checkpoint", "verify", dir)
}

// A run says which tensors of its checkpoint have no bytes that a restore would find, and
// refers to the model's file for those that the cache has lost.
func TestResumeNotDurable(t *testing.T) {
	model, dir := storyFile(t), filepath.Join(t.TempDir(), "saved")
	cliCall(t, "checkpoint", "save", model, dir)
	c, err := blob.OpenCache(filepath.Join(dir, "cache"), blob.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Put(blob.Tensor, "tensor:extra:len5", []byte("extra"), 0, false); err != nil {
		t.Fatal(err)
	}
	cliCall(t, "checkpoint", "save", dir) // of the cache, so that it has one more
	saved, err := checkpoint.Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var weight *blob.Info
	for i := range saved.Entries {
		e := &saved.Entries[i]
		if info, err := c.Stat(e.Blob.Kind, e.Blob.Key); err == nil && weight == nil && e.ID != "extra" {
			weight = &info
		}
	}
	if err := errors.Join(c.Delete(blob.Tensor, "tensor:extra:len5"), os.Remove(weight.Path)); err != nil {
		t.Fatal(err)
	}
	_, said, code := resumed(t, model, resumePrompt, dir)
	if code != command.OK || strings.Count(said, "not durable: ") != 1 || !strings.Contains(said, "not durable: extra: the cache has no bytes of it") {
		t.Errorf("exit %d: %s", code, said)
	}
	var out, errw bytes.Buffer
	if code := Main([]string{"checkpoint", "verify", dir}, strings.NewReader(""), &out, &errw); code != command.BadResult || !strings.Contains(out.String(), ", 1 bad") || !strings.Contains(out.String(), `"extra"`) {
		t.Errorf("exit %d: %s%s", code, out.String(), errw.String())
	}
	_, said, code = resumed(t, "atenia-story", resumePrompt, filepath.Join(t.TempDir(), "new"))
	if code != command.OK || strings.Contains(said, "not durable") {
		t.Errorf("the embedded model: exit %d: %s", code, said)
	}
}
