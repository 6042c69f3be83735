package durable_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"atenia/internal/store/durable"
)

// TestEnded: what ended processes left is removed by the next of its kind, and what a
// process uses is not.
func TestEnded(t *testing.T) {
	dir := t.TempDir()
	put := func(path string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elsewhere := filepath.Dir(put("elsewhere/.lock"))
	if err := os.Symlink(elsewhere, filepath.Join(dir, "cold-link")); err != nil {
		t.Skip(err)
	}
	gone := []string{filepath.Dir(put("cold-1/.lock")), put(".m.tmp-1"), put("tokens-1"), filepath.Join(dir, "cold-empty")}
	put("cold-1/deep/file")
	if err := os.Mkdir(gone[3], 0o700); err != nil {
		t.Fatal(err)
	}
	keep := []string{put(".n.tmp-1"), put("colder"), put("cold-2/of/others"), elsewhere, filepath.Join(dir, "cold-link")}
	folder := func() func() error {
		path, remove, err := durable.TempDir(dir, "cold-")
		if err != nil {
			t.Fatal(err)
		}
		keep = append(keep, path)
		return remove
	}
	file := func() func() error {
		f, remove, err := durable.TempFile(dir, "tokens-")
		if err != nil {
			t.Fatal(err)
		}
		keep = append(keep, f.Name())
		return remove
	}
	removes := []func() error{folder(), file(), folder(), file()}
	err := durable.WriteFile(filepath.Join(dir, "m"), func(w io.Writer) error {
		keep = append(keep, found(t, dir, ".m.tmp-*")...)
		return durable.Replace(filepath.Join(dir, "m"), func(io.Writer) error { return exist(keep) })
	})
	if err != nil {
		t.Error(err)
	}
	keep = slices.DeleteFunc(keep, func(p string) bool { return filepath.Base(p)[:3] == ".m." })
	for _, p := range gone {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	if err := exist(keep); err != nil {
		t.Error(err)
	}
	for _, remove := range removes {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	durable.RemoveEnded(nil, dir, "")
	if left := found(t, dir, ".*"); len(left) != 0 { // nobody writes .n any more
		t.Errorf("left: %v", left)
	}
	if err := exist([]string{filepath.Join(elsewhere, ".lock")}); err != nil {
		t.Error(err)
	}
}

func found(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func exist(paths []string) (err error) {
	for _, p := range paths {
		_, e := os.Lstat(p)
		err = errors.Join(err, e)
	}
	return err
}

// TestTemporariesTogether: many that make and remove the same kind at once do not take
// each other's.
func TestTemporariesTogether(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range 30 {
				path, remove, err := durable.TempDir(dir, "x-")
				if err == nil {
					err = os.WriteFile(filepath.Join(path, "own"), nil, 0o600)
				}
				if err == nil {
					err = durable.Replace(filepath.Join(dir, "shared"), func(w io.Writer) error {
						_, err := fmt.Fprint(w, k, i)
						return err
					})
				}
				if err == nil {
					err = errors.Join(exist([]string{filepath.Join(path, "own")}), remove())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left := found(t, dir, "*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
