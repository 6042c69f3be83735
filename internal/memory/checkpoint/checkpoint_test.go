package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// A world is a cache, a folder for checkpoints and managers made on them.
type world struct {
	t     *testing.T
	root  string
	cache *blob.Cache
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, root: t.TempDir()}
	var err error
	if w.cache, err = blob.OpenCache(filepath.Join(w.root, "cache"), blob.Config{FS: unsynced{durable.Default(nil)}}); err != nil {
		t.Fatal(err)
	}
	return w
}

// unsynced is the operating system's files for tests in which the power stays
// on: it does not wait for the disk.
type unsynced struct{ durable.FS }

func (u unsynced) OpenFile(name string, flag int, mode fs.FileMode) (durable.File, error) {
	f, err := u.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

func (unsynced) SyncFiles([]string) error { return nil }

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

func (w *world) dir() string { return filepath.Join(w.root, "checkpoint") }

// manager returns a fresh one with the cache.
func (w *world) manager() *memory.Manager {
	return memory.New(memory.Config{Dir: w.t.TempDir(), Cache: w.cache, FS: unsynced{durable.Default(nil)}})
}

// ram registers a tensor with bytes in RAM, and in the cache if durable.
func (w *world) ram(m *memory.Manager, id string, data []byte, durable bool) {
	w.t.Helper()
	_, err := m.RegisterData(id, data, memory.RAM)
	if err == nil && durable {
		err = w.cache.Put(blob.Tensor, fmt.Sprintf("tensor:%s:len%d", id, len(data)), data, 0, true)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) save(m *memory.Manager) *Saved {
	w.t.Helper()
	s, err := Save(w.t.Context(), w.dir(), m, 1234, SaveOptions{FS: unsynced{durable.Default(nil)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) write(text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(w.dir(), 0o777), os.WriteFile(filepath.Join(w.dir(), Name), []byte(text), 0o666)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) text() string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir(), Name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// restore restores into a fresh manager.
func (w *world) restore(o RestoreOptions) (*memory.Manager, *Restored) {
	w.t.Helper()
	m := w.manager()
	r, err := Restore(w.t.Context(), w.dir(), m, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return m, r
}

// has checks the tier and the bytes of a tensor.
func (w *world) has(m *memory.Manager, id string, at memory.Tier, data []byte) {
	w.t.Helper()
	if got, ok := m.Tier(id); !ok || got != at {
		w.t.Errorf("%q is in %v (%v), want %v", id, got, ok, at)
	}
	if got, err := m.Bytes(id); err != nil || !bytes.Equal(got, data) {
		w.t.Errorf("%q has %x (%v), want %x", id, got, err, data)
	}
}

func (w *world) hint(m *memory.Manager, id string, desired *memory.Tier, summary string) {
	w.t.Helper()
	h, ok := m.Hint(id)
	if !ok || (h.Desired == nil) != (desired == nil) || desired != nil && *h.Desired != *desired || h.Summary != summary || h.HasSummary != (summary != "") {
		w.t.Errorf("hint of %q is %+v, want %v %q", id, h, desired, summary)
	}
}

func ptr[T any](v T) *T { return &v }

// entryText is an entry as a file has it.
func entryText(id, tier string, n int, desired, summary string) string {
	return fmt.Sprintf("id=%s\nis_grad=0\ntier=%s\nlen=%d\ncache_kind=tensor\ncache_key=tensor:%s:len%d\ndesired_tier=%s\nplan_summary=%s\n\n", id, tier, n, id, n, desired, summary)
}

func manifestText(entries ...string) string {
	return fmt.Sprintf("version=1\ncreated_unix=1234\nentry_count=%d\n\n%s", len(entries), strings.Join(entries, ""))
}

var threeDrifts = []Report{{"t1", []Drift{
	{Kind: MissingBackend, Desired: memory.VRAM}, {Kind: TierDowngrade, Desired: memory.VRAM, Restored: memory.RAM}, {Kind: PlanMismatch, Summary: "run on GPU"},
}}}

func sameReports(t *testing.T, got, want []Report) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("reports %v, want %v", got, want)
	}
}

// checkpointCases are the acceptance cases of checkpoints.
var checkpointCases = map[string]func(t *testing.T, w *world){
	"CK-1": func(t *testing.T, w *world) {
		m := w.manager()
		w.ram(m, "t1", []byte{1, 2, 3}, true)
		if s := w.save(m); len(s.Manifest.Entries) != 1 || len(s.NotDurable) > 0 || s.Written > 0 {
			t.Errorf("%+v", s)
		}
		if got, want := w.text(), manifestText(entryText("t1", "ram", 3, "none", "none")); got != want {
			t.Errorf("manifest\n%s\nwant\n%s", got, want)
		}
		m, _ = w.restore(RestoreOptions{})
		w.has(m, "t1", memory.RAM, []byte{1, 2, 3})
	},
	"CK-2": func(t *testing.T, w *world) {
		m := w.manager()
		w.ram(m, "t2", []byte{5, 6, 7, 8}, false)
		if _, err := m.Move(t.Context(), "t2", memory.SSD); err != nil {
			t.Fatal(err)
		}
		w.save(m)
		m, _ = w.restore(RestoreOptions{})
		w.has(m, "t2", memory.SSD, []byte{5, 6, 7, 8})
		if _, err := m.Move(t.Context(), "t2", memory.RAM); err != nil {
			t.Fatal(err)
		}
		w.has(m, "t2", memory.RAM, []byte{5, 6, 7, 8})
	},
	"CK-3": func(t *testing.T, w *world) {
		m := memory.New(memory.Config{Adapter: &memorytest.FakeVRAM{}, Cache: w.cache})
		w.ram(m, "t3", []byte{9}, true)
		if _, err := m.Move(t.Context(), "t3", memory.VRAM); err != nil {
			t.Fatal(err)
		}
		if s := w.save(m); s.Manifest.Entries[0].Tier != memory.VRAM {
			t.Errorf("%+v", s)
		}
		m, _ = w.restore(RestoreOptions{})
		w.has(m, "t3", memory.RAM, []byte{9})
	},
	"CK-4": func(t *testing.T, w *world) {
		m := w.manager()
		w.ram(m, "t1", []byte{1}, true)
		m.SetHint("t1", memory.Hint{Desired: ptr(memory.VRAM), Summary: "a\nb", HasSummary: true})
		w.save(m)
		if !strings.Contains(w.text(), "\ndesired_tier=vram\nplan_summary=a b\n") {
			t.Error(w.text())
		}
		m, _ = w.restore(RestoreOptions{})
		w.hint(m, "t1", ptr(memory.VRAM), "a b")
	},
	"CK-5": func(t *testing.T, w *world) {
		legacy, err := os.ReadFile("testdata/legacy.meta")
		if err != nil {
			t.Fatal(err)
		}
		w.write(string(legacy))
		err = errors.Join(w.cache.Put(blob.Tensor, "tensor:layer_0:len4", []byte("abcd"), 1, false),
			w.cache.Put(blob.Gradient, "grad:layer_0.grad:len4", []byte("efgh"), 1, false))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := w.restore(RestoreOptions{})
		w.hint(m, "layer_0", nil, "")
		w.has(m, "layer_0", memory.SSD, []byte("abcd"))
		w.has(m, "layer_0.grad", memory.RAM, []byte("efgh"))
		if g, err := m.RestoreGradient("layer_0.grad"); err != nil || string(g) != "efgh" {
			t.Errorf("the gradient cannot be found again: %q, %v", g, err)
		}
	},
	"CK-6": func(t *testing.T, w *world) {
		m := w.manager()
		w.ram(m, "t1", []byte{1, 2, 3}, true)
		w.write(manifestText(entryText("t1", "vram", 3, "vram", "run on GPU")))
		m, r := w.restore(RestoreOptions{})
		w.has(m, "t1", memory.RAM, []byte{1, 2, 3})
		sameReports(t, r.Reports, threeDrifts)
		w.hint(m, "t1", ptr(memory.VRAM), "run on GPU")
		sameReports(t, r.Manifest.Reports(false), threeDrifts)
	},
	"CK-7": func(t *testing.T, w *world) {
		w.ram(w.manager(), "t1", []byte{1}, true)
		w.write(manifestText(entryText("t1", "ram", 1, "ram", "use the gpu later")))
		_, r := w.restore(RestoreOptions{})
		sameReports(t, r.Reports, []Report{{"t1", []Drift{{Kind: PlanMismatch, Summary: "use the gpu later"}}}})
	},
	"CK-8": func(t *testing.T, w *world) {
		one := entryText("t1", "ram", 3, "none", "none")
		for _, c := range []struct {
			text string
			want error
		}{
			{strings.Replace(manifestText(one), "entry_count=1", "entry_count=2", 1), ErrInvalidFormat},
			{strings.Replace(manifestText(one), "tier=ram", "tier=hbm", 1), ErrInvalidFormat},
			{strings.Replace(manifestText(one), "cache_key=tensor:t1:len3", "cache_key=none", 1), ErrInvalidFormat},
			{strings.NewReplacer("cache_key=tensor:t1:len3", "cache_key=none", "cache_kind=tensor", "cache_kind=none").Replace(manifestText(one)), ErrMissingBlob},
		} {
			w.write(c.text)
			if _, err := Restore(t.Context(), w.dir(), w.manager(), RestoreOptions{}); !errors.Is(err, c.want) {
				t.Errorf("%s\n%v, want %v", c.text, err, c.want)
			}
		}
	},
	"CK-9": func(t *testing.T, w *world) {
		m := w.manager()
		for _, id := range []string{"b", "a", "c"} {
			w.ram(m, id, []byte(id), true)
		}
		if err := m.PersistGradient(t.Context(), "c", []byte("c"), 1, true); err != nil {
			t.Fatal(err)
		}
		w.save(m)
		first := w.text()
		var ids []string
		for _, e := range w.save(m).Manifest.Entries {
			ids = append(ids, fmt.Sprint(e.ID, e.IsGrad))
		}
		if w.text() != first || !slices.Equal(ids, []string{"afalse", "bfalse", "ctrue"}) {
			t.Errorf("%v\n%s\nthen\n%s", ids, first, w.text())
		}
	},
	"CK-10": func(t *testing.T, w *world) {
		w.ram(w.manager(), "t1", []byte{1, 2, 3}, true)
		w.write(manifestText(entryText("t1", "vram", 3, "vram", "run on GPU")))
		m, r := w.restore(RestoreOptions{Lazy: true})
		if s, ok := m.LazyState("t1"); !ok || s != memory.Unmaterialized {
			t.Errorf("state %v, %v", s, ok)
		}
		if at, _ := m.Tier("t1"); at != memory.RAM {
			t.Errorf("in %v", at)
		}
		sameReports(t, r.Reports, threeDrifts)
		w.hint(m, "t1", ptr(memory.VRAM), "run on GPU")
		for range 2 {
			if err := EnsureMaterialized(t.Context(), m, "t1"); err != nil {
				t.Fatal(err)
			}
			// A second read of the cache would fail.
			if err := w.cache.Delete(blob.Tensor, "tensor:t1:len3"); err != nil {
				t.Fatal(err)
			}
		}
		if s, _ := m.LazyState("t1"); s != memory.Materialized {
			t.Errorf("state %v", s)
		}
		w.has(m, "t1", memory.RAM, []byte{1, 2, 3})
	},
}

// TestCheckpoint runs them, each in a new world.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	for id, run := range checkpointCases {
		t.Run(id, func(t *testing.T) { run(t, newWorld(t)) })
	}
}

// A blob that is older than its tensor is not recorded, so that no restore
// brings the old bytes back; with Materialize it is written again.
func TestStale(t *testing.T) {
	t.Parallel()
	for _, where := range []memory.Tier{memory.RAM, memory.SSD} {
		w := newWorld(t)
		m := w.manager()
		w.ram(m, "t", []byte{1, 2, 3}, true)
		if _, err := m.RegisterData("t", []byte{4, 5, 6}, where); err != nil { // same length, other content
			t.Fatal(err)
		}
		if s := w.save(m); s.Manifest.Entries[0].Blob != nil || len(s.NotDurable) != 1 || s.NotDurable[0] != (NotDurable{"t", "the cache has an older version of it"}) {
			t.Errorf("%+v", s)
		}
		s, err := Save(t.Context(), w.dir(), m, 5, SaveOptions{Materialize: true, FS: unsynced{durable.Default(nil)}})
		if err != nil || s.Written != 1 || len(s.NotDurable) > 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		m, _ = w.restore(RestoreOptions{})
		w.has(m, "t", where, []byte{4, 5, 6})
		// An entry that knows no strong hash is read to be compared.
		info, err := w.cache.Stat(blob.Tensor, "tensor:t:len3")
		if err := errors.Join(err, os.Remove(strings.TrimSuffix(info.Path, "bin")+"sum")); err != nil {
			t.Fatal(err)
		}
		if s := w.save(m); s.Manifest.Entries[0].Blob == nil {
			t.Errorf("%+v", s)
		}
	}
}

// Save reports the tensors that a restore would not find.
func TestNotDurable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager()
	w.ram(m, "ram", []byte{1}, false)
	if err := errors.Join(m.Register("logical", 5, memory.RAM), m.Register("cpu", 5, memory.CPU)); err != nil {
		t.Fatal(err)
	}
	if s := w.save(m); fmt.Sprint(s.NotDurable) != "[{logical the cache has no bytes of it} {ram the cache has no bytes of it}]" {
		t.Errorf("%v", s.NotDurable)
	}
	s, err := Save(t.Context(), w.dir(), m, 1, SaveOptions{Materialize: true, FS: unsynced{durable.Default(nil)}})
	if err != nil || fmt.Sprint(s.NotDurable) != "[{logical the cache has no bytes of it}]" || s.Written != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	alone := memory.New(memory.Config{})
	w.ram(alone, "x", []byte{1}, false)
	if s := w.save(alone); fmt.Sprint(s.NotDurable) != "[{x there is no persistent cache}]" {
		t.Errorf("%v", s.NotDurable)
	}
}

// Errors of the cache become those of a checkpoint; the first ends a restore.
func TestRestoreErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ram(w.manager(), "t1", []byte{1, 2, 3}, true)
	text := manifestText(entryText("t1", "ram", 3, "none", "none"))
	check := func(what string, m *memory.Manager, o RestoreOptions, want error) {
		t.Helper()
		if _, err := Restore(t.Context(), w.dir(), m, o); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("no manifest", w.manager(), RestoreOptions{}, ErrIO)
	w.write(text)
	check("no cache", memory.New(memory.Config{}), RestoreOptions{}, ErrIO)
	check("no cache, lazily", memory.New(memory.Config{}), RestoreOptions{Lazy: true}, ErrIO)
	check("no room", memory.New(memory.Config{Cache: w.cache, Budget: map[memory.Tier]uint64{memory.RAM: 2}}), RestoreOptions{}, memory.ErrBudget)
	w.write(strings.Replace(text, "len=3", "len=4", 1))
	check("another length", w.manager(), RestoreOptions{}, ErrInvalidFormat)
	w.write(strings.ReplaceAll(text, "t1", "t2"))
	check("no blob", w.manager(), RestoreOptions{}, ErrMissingBlob)
	w.write(text)
	info, err := w.cache.Stat(blob.Tensor, "tensor:t1:len3")
	if err := errors.Join(err, os.WriteFile(info.Path, []byte{1, 2, 2}, 0o666)); err != nil {
		t.Fatal(err)
	}
	check("damaged", w.manager(), RestoreOptions{}, ErrInvalidFormat)
	m, _ := w.restore(RestoreOptions{Lazy: true})
	if err := EnsureMaterialized(t.Context(), m, "t1"); !errors.Is(err, ErrInvalidFormat) {
		t.Error(err)
	}
	if err := Materialize(t.Context(), m, []string{"t1", "t1"}); !errors.Is(err, ErrInvalidFormat) {
		t.Error(err)
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	_, err1 := Restore(cancelled, w.dir(), w.manager(), RestoreOptions{})
	_, err2 := Save(cancelled, w.dir(), m, 1, SaveOptions{})
	if err3 := Materialize(cancelled, m, []string{"t1"}); !errors.Is(err1, context.Canceled) || !errors.Is(err2, context.Canceled) || !errors.Is(err3, context.Canceled) {
		t.Error(err1, err2, err3)
	}
}

// A lazy restore loads tensors in the order of the requests, and no others.
func TestMaterialize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager()
	var ids []string
	for i := range 20 {
		id := fmt.Sprint("t", i)
		ids = append(ids, id)
		w.ram(m, id, []byte(id), true)
	}
	w.save(m)
	m, _ = w.restore(RestoreOptions{Lazy: true, GPU: true})
	if err := Materialize(t.Context(), m, ids[:15]); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if s, _ := m.LazyState(id); (s == memory.Materialized) != (i < 15) {
			t.Errorf("%s is %v", id, s)
		}
	}
	// A save sees the same state, whether bytes are there or not.
	before := w.text()
	w.save(m)
	if w.text() != before {
		t.Errorf("got\n%s\nwant\n%s", w.text(), before)
	}
}

// Two managers with equal ids share only the cache.
func TestTwoManagers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager()
	w.ram(m, "t", []byte("bytes"), true)
	w.save(m)
	a, _ := w.restore(RestoreOptions{Lazy: true})
	b, _ := w.restore(RestoreOptions{Lazy: true})
	if err := EnsureMaterialized(t.Context(), a, "t"); err != nil {
		t.Fatal(err)
	}
	if s, _ := b.LazyState("t"); s != memory.Unmaterialized {
		t.Error("one manager materialised another's tensor")
	}
	a.SetHint("t", memory.Hint{Desired: ptr(memory.SSD)})
	w.hint(b, "t", nil, "")
}
