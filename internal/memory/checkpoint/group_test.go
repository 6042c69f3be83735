package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

// Forty small tensors cost a few syncs, not five each.
func TestSyncs(t *testing.T) {
	fsys := faultfs.New(0, faultfs.Stop)
	root := t.TempDir()
	cache, err := blob.OpenCache(filepath.Join(root, "cache"), blob.Config{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	m := memory.New(memory.Config{Cache: cache})
	for i := range 40 {
		if _, err := m.RegisterData(fmt.Sprintf("layer.%d", i), bytes.Repeat([]byte{byte(i)}, 4096), memory.RAM); err != nil {
			t.Fatal(err)
		}
	}
	const most = 10
	before := 0
	for i, what := range []string{"new", "the same again", "changed"} {
		if what == "changed" {
			for i := range 40 {
				if _, err := m.RegisterData(fmt.Sprintf("layer.%d", i), bytes.Repeat([]byte{byte(i + 1)}, 4096), memory.RAM); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := Save(t.Context(), root, m, uint64(i), SaveOptions{Materialize: true, FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		n := fsys.Syncs() - before
		before += n
		t.Logf("%s: %d entries written, %d syncs", what, s.Written, n)
		if n > most || s.Written != 0 && s.Written != 40 {
			t.Errorf("%s: %d entries written with %d syncs, want at most %d", what, s.Written, n, most)
		}
	}
}

// A model's file is restored with its manifest, and any change to it is noticed.
func TestModelFile(t *testing.T) {
	m := &Manifest{Created: 7, Entries: []Entry{
		{ID: "a", Tier: memory.RAM, Bytes: 3, Source: &memory.Source{Path: "/m/one \"two\".gguf", Offset: 4096}},
		{ID: "b\u00e9", Tier: memory.SSD, Bytes: 9, Source: &memory.Source{Path: "/m/x", Offset: 0}},
		{ID: "kv:1", Tier: memory.RAM, Bytes: 32},
	}}
	m.Model = &Model{Path: "m.gguf", Content: blob.Hash{1}, Written: blob.Hash{2}, State: "v1 x", Types: map[string]string{"a": "BF16"}, Sequences: []Sequence{
		{Class: 3, Tokens: []int32{5, 6, 70000}, Parts: []Part{{State: 1, First: 2, Pages: 2, ID: "kv:1"}}}, {Tokens: []int32{0}},
	}}
	dir := t.TempDir()
	if err := write(dir, m, nil); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Model, m.Model) || !reflect.DeepEqual(got.Entries, m.Entries) {
		t.Errorf("got %+v %+v", got.Model, got.Entries)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "checkpoint.*.model"))
	if len(names) != 1 {
		t.Fatalf("%q, want one file of the model", names)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, bad := range [][]byte{whole[:i], append(append(bytes.Clone(whole[:i]), whole[i]^4), whole[i+1:]...)} {
			if err := os.WriteFile(names[0], bad, 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir, nil); !errors.Is(err, ErrInvalidFormat) {
				t.Fatalf("byte %d changed: %v", i, err)
			}
		}
	}
}

// FuzzModel checks that no text makes the parser fail otherwise than by saying so.
func FuzzModel(f *testing.F) {
	f.Add("type F32 \"a\"\nfile 0 \"x\"\nsource 0 0 \"a\"\nsequence 0 1 2\npart 0 0 1 \"a\"\n")
	f.Fuzz(func(t *testing.T, body string) {
		m := &Manifest{Entries: []Entry{{ID: "a"}}, Model: &Model{}}
		p := modelParser{m: m, byID: map[string]int{"a": 0}}
		for s := range strings.Lines(body) {
			if p.line(strings.TrimSuffix(s, "\n")) != nil {
				return
			}
		}
		text := m.modelText(blob.Hash{})
		again := &Manifest{Entries: []Entry{{ID: "a"}}}
		if line, why := again.parseModel(string(text), blob.Hash{}); why != "" {
			t.Errorf("line %d of its own text: %s\n%s", line, why, text)
		}
	})
}

// Wherever a save with a model is interrupted, the old state or the new one is
// there, and the next process finds it without leftovers, wherever it is
// interrupted itself.
func TestCrashClean(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	m := old.manager()
	old.ram(m, "kept", []byte("kept"), true)
	old.ram(m, "old", []byte("old"), true)
	saveModel(t, old.dir(), m, 1234, nil)
	for _, fault := range []faultfs.Fault{faultfs.Stop, faultfs.Torn, faultfs.Full} {
		for n, fsys := range faultfs.Each(fault) {
			if fault != faultfs.Stop && n%3 != 0 && n > 12 {
				for !fsys.Hit() { // the calls are those of Stop, so a third of them will do
					_ = fsys.Remove("")
				}
				continue
			}
			w := newWorld(t)
			if err := os.CopyFS(w.root, os.DirFS(old.root)); err != nil {
				t.Fatal(err)
			}
			faulty, err := blob.OpenCache(filepath.Join(w.root, "cache"), blob.Config{FS: fsys})
			if err != nil {
				t.Fatal(err)
			}
			m := memory.New(memory.Config{Cache: faulty})
			w.ram(m, "kept", []byte("kept"), false)
			for _, id := range []string{"old", "new", "new2"} {
				w.ram(m, id, []byte("newer"), false)
			}
			saveErr := saveModel(t, w.dir(), m, 5678, fsys)
			fsys.PowerCut()
			cleaner := faultfs.New(n%40+1, faultfs.Stop)
			if c, err := blob.OpenCache(filepath.Join(w.root, "cache"), blob.Config{FS: cleaner}); err == nil {
				_, _ = Clean(w.dir(), c, cleaner) // killed, too
			}
			if _, err := Clean(w.dir(), w.cache, nil); err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
			got, r := w.restore(RestoreOptions{})
			switch {
			case r.Manifest.Created == 5678:
				w.has(got, "new", memory.RAM, []byte("newer"))
				w.has(got, "old", memory.RAM, []byte("newer"))
			case saveErr == nil:
				t.Errorf("call %d: an acknowledged checkpoint is gone", n)
			default:
				w.has(got, "old", memory.RAM, []byte("old"))
			}
			w.has(got, "kept", memory.RAM, []byte("kept"))
			if r.Manifest.Model == nil || uint64(r.Manifest.Model.Content[0]) != r.Manifest.Created%256 {
				t.Errorf("call %d: checkpoint %d is of %+v", n, r.Manifest.Created, r.Manifest.Model)
			}
			w.noLeftovers(n, r.Manifest)
		}
	}
}

// saveModel saves with a model that names the time.
func saveModel(t *testing.T, dir string, m *memory.Manager, created uint64, fsys *faultfs.FS) error {
	o := SaveOptions{Materialize: true, Model: &Model{Content: blob.Hash{byte(created)}}}
	if fsys != nil {
		o.FS = fsys
	}
	_, err := Save(t.Context(), dir, m, created, o)
	return err
}

// noLeftovers checks that every file is of the checkpoint.
func (w *world) noLeftovers(n int, m *Manifest) {
	w.t.Helper()
	named := map[string]bool{"kept": true}
	for i := range m.Entries {
		info, err := w.cache.Stat(m.Entries[i].Blob.Kind, m.Entries[i].Blob.Key)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, ext := range []string{".bin", ".meta", ".sum"} {
			named[strings.TrimSuffix(filepath.Base(info.Path), ".bin")+ext] = true
		}
	}
	files, err := os.ReadDir(filepath.Join(w.root, "cache", "tensor"))
	if err != nil {
		w.t.Fatal(err)
	}
	more, err := os.ReadDir(w.dir())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range append(files, more...) {
		name := f.Name()
		// An entry that the new checkpoint no longer names is for gc to remove.
		ours := named[name] || strings.HasPrefix(name, "checkpoint.") && name != journalName || m.Created == 5678 && (strings.HasPrefix(name, "tensor_old") || strings.HasPrefix(name, "tensor_kept"))
		if !ours {
			w.t.Errorf("call %d: %s was left", n, name)
		}
	}
}

// childEnv makes the test binary a process that uses a checkpoint.
const childEnv = "ATENIA_CHECKPOINT_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir, os.Getenv(childEnv+"_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child saves a checkpoint over and over, or holds its lock for a while.
func child(dir, name string) error {
	t := context.Background()
	release, err := Lock(t, dir, time.Hour)
	if err != nil {
		return err
	}
	if name == "hold" {
		fmt.Println("held")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent says so
		return release()
	}
	if err := release(); err != nil {
		return err
	}
	cache, err := blob.OpenCache(filepath.Join(dir, "cache"), blob.Config{FS: unsynced{durable.Default(nil)}})
	if err != nil {
		return err
	}
	for i := range 20 {
		release, err := Lock(t, dir, time.Hour)
		if err != nil {
			return err
		}
		if _, err := Clean(dir, cache, nil); err != nil {
			return err
		}
		m := memory.New(memory.Config{Cache: cache})
		for k := range 5 {
			if _, err := m.RegisterData(fmt.Sprint("t", k), []byte(fmt.Sprintf("%s %d", name, i)), memory.RAM); err != nil {
				return err
			}
		}
		if _, err := Save(t, dir, m, uint64(i), SaveOptions{Materialize: true, FS: unsynced{durable.Default(nil)}}); err != nil {
			return err
		}
		back := memory.New(memory.Config{Cache: cache})
		if _, err := Restore(t, dir, back, RestoreOptions{}); err != nil {
			return err
		}
		for k := range 5 {
			if b, err := back.Bytes(fmt.Sprint("t", k)); err != nil || string(b) != fmt.Sprintf("%s %d", name, i) {
				return fmt.Errorf("%s %d: t%d is %q: %v", name, i, k, b, err)
			}
		}
		if err := release(); err != nil {
			return err
		}
	}
	return nil
}

// Two processes take turns on one checkpoint, and one that cannot wait says so.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	start := func(name string) (*exec.Cmd, *bytes.Buffer) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_NAME="+name)
		var errs bytes.Buffer
		c.Stderr = &errs
		return c, &errs
	}
	one, errs1 := start("one")
	two, errs2 := start("two")
	if err := errors.Join(one.Start(), two.Start()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(one.Wait(), two.Wait()); err != nil {
		t.Errorf("%v\n%s%s", err, errs1, errs2)
	}
	holder, _ := start("hold")
	out, err := holder.StdoutPipe()
	var in io.Closer
	if err == nil {
		in, err = holder.StdinPipe()
	}
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), dir, 50*time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Errorf("the lock of another process: %v", err)
	}
	go in.Close()
	release, err := Lock(t.Context(), dir, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(release(), holder.Wait()); err != nil {
		t.Error(err)
	}
}

// What a checkpoint near a cache names is known: of the folder around it, and of
// those that were saved with it. One that cannot be read stops everything.
func TestNearby(t *testing.T) {
	w := newWorld(t)
	m := w.manager()
	w.ram(m, "a", []byte("a"), true)
	w.ram(m, "b", []byte("b"), true)
	w.save(m)
	a, b := Blob{blob.Tensor, "tensor:a:len1"}, Blob{blob.Tensor, "tensor:b:len1"}
	if named, err := Nearby(w.cache, nil); err != nil || !named[a] || !named[b] {
		t.Errorf("registered: %v, %v", named, err)
	}
	if err := os.RemoveAll(w.dir()); err != nil {
		t.Fatal(err)
	}
	if named, err := Nearby(w.cache, nil); err != nil || len(named) > 0 {
		t.Errorf("gone: %v, %v", named, err)
	}
	if err := m.Remove("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := Save(t.Context(), w.root, m, 1, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	if named, err := Nearby(w.cache, nil); err != nil || !named[a] || named[b] {
		t.Errorf("around: %v, %v", named, err)
	}
	if err := os.Truncate(filepath.Join(w.root, Name), 30); err != nil {
		t.Fatal(err)
	}
	if _, err := Nearby(w.cache, nil); !errors.Is(err, ErrInvalidFormat) {
		t.Errorf("cut: %v", err)
	}
}
