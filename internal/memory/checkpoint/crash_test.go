package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/faultfs"
)

// Wherever a save is interrupted, the old checkpoint or the new one exists and
// is restored with its bytes.
func TestCrash(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	m := old.manager()
	old.ram(m, "kept", []byte("kept"), true)
	old.ram(m, "old", []byte("old"), true)
	old.save(m)
	for _, fault := range []faultfs.Fault{faultfs.Stop, faultfs.Torn, faultfs.Full} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			t.Parallel()
			for n, fsys := range faultfs.Each(fault) {
				crash(t, old.root, n, fsys)
			}
		})
	}
}

func crash(t *testing.T, old string, n int, fsys *faultfs.FS) {
	w := newWorld(t)
	if err := os.CopyFS(w.root, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	faulty, err := blob.OpenCache(filepath.Join(w.root, "cache"), blob.Config{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	m := memory.New(memory.Config{Cache: faulty})
	w.ram(m, "kept", []byte("kept"), false)
	w.ram(m, "new", []byte("newer"), false)
	_, err = Save(t.Context(), w.dir(), m, 5678, SaveOptions{Materialize: true, FS: fsys})
	fsys.PowerCut()
	got, r := w.restore(RestoreOptions{})
	switch {
	case r.Manifest.Created == 5678:
		w.has(got, "new", memory.RAM, []byte("newer"))
	case err == nil:
		t.Errorf("call %d: an acknowledged checkpoint is gone", n)
	default:
		w.has(got, "old", memory.RAM, []byte("old"))
	}
	w.has(got, "kept", memory.RAM, []byte("kept"))
}
