package blob

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

func open(t *testing.T, root string, fsys durable.FS) *Cache {
	t.Helper()
	if fsys == nil {
		fsys = faultfs.New(0, faultfs.Stop) // syncs cost nothing there
	}
	c, err := OpenCache(root, Config{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func wantGet(t *testing.T, c *Cache, key, want string, reason error) {
	t.Helper()
	got, err := c.Get(Tensor, key)
	if !errors.Is(err, reason) || reason == nil && (err != nil || string(got) != want) {
		t.Errorf("get %s: %q, %v; want %q, %v", key, got, err, want, reason)
	}
}

func TestCache(t *testing.T) {
	t.Run("PC-1", func(t *testing.T) {
		for _, c := range []struct {
			data string
			want uint32
		}{{"", 2166136261}, {"a", 3826002220}, {"foobar", 3214735720}, {"\x01\x02\x03", 1456420779},
			{"\x01\x02\x03\x04", 1463068797}, {"\x09\x08\x07", 840151161}} {
			if got := Checksum32([]byte(c.data)); got != c.want {
				t.Errorf("%q: %d, want %d", c.data, got, c.want)
			}
		}
	})
	t.Run("PC-2", func(t *testing.T) {
		c := open(t, t.TempDir(), nil)
		must(t, c.Put(Tensor, "w1", []byte{1, 2, 3}, 1234, false))
		text, err := os.ReadFile(filepath.Join(c.Root(), "tensor", "w1.meta"))
		if err != nil || string(text) != "kind=tensor\nlen=3\nchecksum32=1456420779\ncreated_unix=1234\n" {
			t.Errorf("%q, %v", text, err)
		}
		wantGet(t, c, "w1", "\x01\x02\x03", nil)
		if !c.Exists(Tensor, "w1") || c.Exists(Gradient, "w1") {
			t.Error("exists is wrong")
		}
	})
	t.Run("PC-3", func(t *testing.T) {
		c := open(t, t.TempDir(), nil)
		must(t, c.Put(Tensor, "w1", []byte("one"), 1, false))
		if err := c.Put(Tensor, "w1", []byte("two"), 2, false); !errors.Is(err, ErrExists) {
			t.Errorf("got %v", err)
		}
		wantGet(t, c, "w1", "one", nil)
		must(t, c.Put(Tensor, "w1", []byte("three"), 3, true))
		wantGet(t, c, "w1", "three", nil)
	})
	t.Run("PC-4", func(t *testing.T) {
		c := open(t, t.TempDir(), nil)
		bin := filepath.Join(c.Root(), "tensor", "c1.bin")
		for _, content := range []string{"\x01\x02\x03\x00", "\x01\x02\x02"} {
			must(t, c.Put(Tensor, "c1", []byte{1, 2, 3}, 0, true))
			must(t, os.WriteFile(bin, []byte(content), 0o600))
			if _, err := c.Get(Tensor, "c1"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "mismatch") {
				t.Errorf("%q: %v", content, err)
			}
		}
		must(t, os.Remove(filepath.Join(c.Root(), "tensor", "c1.meta")))
		wantGet(t, c, "c1", "", ErrNotFound)
	})
	t.Run("PC-5", func(t *testing.T) {
		const good = "kind=kernel_meta\nlen=3\nchecksum32=1\ncreated_unix=1\n"
		for _, bad := range []string{good + "x=1\n", strings.Replace(good, "len=3", "len=abc", 1)} {
			if _, err := ParseHeader(bad); !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
			c := open(t, t.TempDir(), nil)
			must(t, c.Put(Tensor, "c1", []byte{1, 2, 3}, 0, true))
			must(t, os.WriteFile(filepath.Join(c.Root(), "tensor", "c1.meta"), []byte(bad), 0o600))
			wantGet(t, c, "c1", "", ErrCorrupt)
		}
		h, err := ParseHeader(strings.Replace(good, "kernel_meta", "kernelmeta", 1))
		if err != nil || h.Kind != KernelMeta || h.String() != good {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

// A cache that others wrote has no sidecars, and one name for several keys.
func TestForeign(t *testing.T) {
	c := open(t, t.TempDir(), nil)
	dir := filepath.Join(c.Root(), "tensor")
	const meta = "kind=tensor\nlen=4\nchecksum32=1463068797\ncreated_unix=0\n"
	writeFile(t, filepath.Join(dir, "tensor_t1_len4.bin"), "\x01\x02\x03\x04")
	writeFile(t, filepath.Join(dir, "tensor_t1_len4.meta"), meta)
	wantGet(t, c, "tensor:t1:len4", "\x01\x02\x03\x04", nil)
	if err := c.Put(Tensor, "tensor:t1:len4", nil, 0, false); !errors.Is(err, ErrExists) {
		t.Errorf("put: %v", err)
	}
	if keys, err := c.Keys(Tensor); err != nil || fmt.Sprint(keys) != "[tensor_t1_len4]" {
		t.Errorf("keys %v, %v", keys, err)
	}
	must(t, c.Put(Tensor, "tensor:t1:len4", []byte("ours"), 0, true))
	wantGet(t, c, "tensor:t1:len4", "ours", nil)
	wantGet(t, c, "tensor_t1_len4", "\x01\x02\x03\x04", nil) // still theirs
	// Ours that they replace: the sidecar is not that of the new bytes.
	must(t, c.Put(Tensor, "w", []byte("ours"), 0, true))
	writeFile(t, filepath.Join(dir, "w.bin"), "\x01\x02\x03\x04")
	writeFile(t, filepath.Join(dir, "w.meta"), meta)
	wantGet(t, c, "w", "\x01\x02\x03\x04", nil)
}

func TestOwners(t *testing.T) {
	c := open(t, t.TempDir(), nil)
	keys := []string{"a/b", "a_b", "a.b", "w1", "W1", strings.Repeat("k", 300), "é", "\n"}
	for _, k := range keys {
		wantGet(t, c, k, "", ErrNotFound)
		must(t, c.Put(Tensor, k, []byte("of "+k), 0, false))
	}
	for _, k := range keys {
		wantGet(t, c, k, "of "+k, nil)
		info, err := c.Stat(Tensor, k)
		if err != nil || info.Key != k || info.Foreign || info.Hash != HashOf([]byte("of "+k)) {
			t.Errorf("%q: %+v, %v", k, info, err)
		}
	}
	if got, err := c.Keys(Tensor); err != nil || len(got) != len(keys) {
		t.Errorf("%d keys, %v", len(got), err)
	}
	names := map[string]bool{}
	entries, _ := os.ReadDir(filepath.Join(c.Root(), "tensor"))
	for _, e := range entries {
		if names[strings.ToLower(e.Name())] {
			t.Errorf("%s differs from another name only in case", e.Name())
		}
		names[strings.ToLower(e.Name())] = true
	}
	for _, k := range keys {
		must(t, c.Delete(Tensor, k))
		wantGet(t, c, k, "", ErrNotFound)
	}
}

func TestAdopt(t *testing.T) {
	dir := t.TempDir()
	s, c := NewStore(dir, nil), open(t, filepath.Join(dir, "cache"), nil)
	data := bytes.Repeat([]byte{5}, 1000)
	for _, codec := range Codecs {
		path, m, err := s.Write("t", data, codec)
		must(t, err)
		must(t, c.Adopt(Tensor, "k", path, m, data, Options{Overwrite: true, Version: 7}))
		info, err := c.Stat(Tensor, "k")
		if err != nil || info.Codec != codec || info.Version != 7 || info.Bytes != 1000 {
			t.Errorf("%+v, %v", info, err)
		}
		a, err1 := os.Stat(path)
		b, err2 := os.Stat(info.Path)
		if err := errors.Join(err1, err2); err != nil || !os.SameFile(a, b) {
			t.Errorf("written twice: %v", err)
		}
		must(t, s.Delete(path))
		if got, err := c.Get(Tensor, "k"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%v: %d bytes, %v", codec, len(got), err)
		}
		must(t, c.Adopt(Tensor, "k2", path, Meta{Codec: codec, OriginalBytes: 1000}, data, Options{Overwrite: true}))
		if got, err := c.Get(Tensor, "k2"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%v: %d bytes, %v", codec, len(got), err)
		}
	}
}

// If any call of a put fails or is the last one, the old entry or the new one is
// there, and the next put works.
func TestCacheCrash(t *testing.T) {
	const before, after = "before", "after, and longer"
	type start struct {
		name  string
		codec Codec
		made  func(t *testing.T, c *Cache)
	}
	for _, st := range []start{
		{"new", None, func(*testing.T, *Cache) {}},
		{"none", None, func(t *testing.T, c *Cache) { must(t, c.Put(Tensor, "k", []byte(before), 1, false)) }},
		{"rle", None, func(t *testing.T, c *Cache) {
			must(t, c.PutWith(Tensor, "k", []byte(before), Options{Codec: RLE}))
		}},
		{"to rle", RLE, func(t *testing.T, c *Cache) { must(t, c.Put(Tensor, "k", []byte(before), 1, false)) }},
		{"foreign", None, func(t *testing.T, c *Cache) {
			h := Header{Kind: Tensor, Bytes: uint64(len(before)), Checksum32: Checksum32([]byte(before))}
			writeFile(t, filepath.Join(c.Root(), "tensor", "k.bin"), before)
			writeFile(t, filepath.Join(c.Root(), "tensor", "k.meta"), h.String())
		}},
		{"no meta", None, func(t *testing.T, c *Cache) {
			must(t, c.Put(Tensor, "k", []byte(before), 1, false))
			must(t, os.Remove(filepath.Join(c.Root(), "tensor", "k.meta")))
		}},
	} {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			faults := []faultfs.Fault{faultfs.Stop, faultfs.Fail}
			if st.name == "none" {
				faults = append(faults, faultfs.Torn, faultfs.Full)
			}
			for _, fault := range faults {
				for n, fsys := range faultfs.Each(fault) {
					c := open(t, filepath.Join(t.TempDir(), "cache"), nil)
					st.made(t, c)
					old := c.Exists(Tensor, "k")
					err := open(t, c.Root(), fsys).PutWith(Tensor, "k", []byte(after), Options{Overwrite: true, Codec: st.codec})
					fsys.PowerCut()
					checkCrash(t, fmt.Sprintf("fault %d, call %d", fault, n), c, err, old, before, after)
					if t.Failed() {
						return
					}
				}
			}
		})
	}
}

func checkCrash(t *testing.T, where string, c *Cache, err error, old bool, before, after string) {
	t.Helper()
	got, getErr := c.Get(Tensor, "k")
	switch {
	case getErr == nil && string(got) == after:
	case err == nil:
		t.Errorf("%s: acknowledged, then %q, %v", where, got, getErr)
	case old && (getErr != nil || string(got) != before):
		t.Errorf("%s: %q, %v; put had said %v", where, got, getErr, err)
	case !old && !errors.Is(getErr, ErrNotFound):
		t.Errorf("%s: %q, %v; put had said %v", where, got, getErr, err)
	}
	must(t, c.Put(Tensor, "k", []byte("next"), 1, true))
	wantGet(t, c, "k", "next", nil)
	for _, e := range []string{"k.bin.old", "k.sum.old"} {
		if _, err := os.Stat(filepath.Join(c.Root(), "tensor", e)); err == nil {
			t.Errorf("%s: %s is left", where, e)
		}
	}
}

// Readers see whole entries while writers, of this cache and of another on the
// same folder, replace them.
func TestCacheConcurrent(t *testing.T) {
	root := t.TempDir()
	whole := func(v byte) []byte { return bytes.Repeat([]byte{v}, 3000+int(v)) }
	must(t, open(t, root, nil).Put(Tensor, "k/1", whole(0), 0, false))
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			c := open(t, root, nil)
			for i := range 20 {
				v := byte(2*i + w)
				if err := c.PutWith(Tensor, "k/1", whole(v), Options{Overwrite: true, Codec: Codec(i % 2)}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			c := open(t, root, nil)
			for range 200 {
				got, err := c.Get(Tensor, "k/1")
				if err != nil || !bytes.Equal(got, whole(got[0])) {
					t.Errorf("%d bytes, %v", len(got), err)
					return
				}
			}
		})
	}
	wg.Wait()
}
