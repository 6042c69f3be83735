package blob

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func keysOf(list []Info) string {
	var keys []string
	for _, i := range list {
		keys = append(keys, i.Key)
	}
	return strings.Join(keys, " ")
}

func TestVerify(t *testing.T) {
	c := open(t, t.TempDir(), nil)
	for i, codec := range Codecs {
		must(t, c.PutWith(Tensor, fmt.Sprintf("t:%d", i), make([]byte, 1000), Options{Codec: codec}))
	}
	must(t, c.Put(Gradient, "g", []byte("grad"), 0, false))
	const meta = "kind=tensor\nlen=4\nchecksum32=1463068797\ncreated_unix=0\n"
	writeFile(t, filepath.Join(c.Root(), "tensor", "theirs.bin"), "\x01\x02\x03\x04")
	writeFile(t, filepath.Join(c.Root(), "tensor", "theirs.meta"), meta)
	writeFile(t, filepath.Join(c.Root(), "tensor", "half.bin"), "\x01\x02\x03\x04")
	list, broken, err := c.Verify(t.Context())
	if err != nil || broken != 0 || keysOf(list) != "t:0 t:1 t:2 t:3 t:4 theirs g" {
		t.Fatalf("%s: %d broken, %v", keysOf(list), broken, err)
	}
	if !list[5].Foreign || list[0].Foreign || list[2].Codec != Zstd {
		t.Errorf("%+v", list)
	}
	spoil := func(path string) {
		b, err := os.ReadFile(path)
		must(t, err)
		b[len(b)-2] ^= 1
		must(t, os.WriteFile(path, b, 0o600))
	}
	for i := range list {
		spoil(list[i].Path)
	}
	if list, broken, err = c.Verify(t.Context()); err != nil || broken != 7 {
		t.Errorf("%d broken, %v: %+v", broken, err, list)
	}
	must(t, c.Put(Tensor, "w", []byte("w"), 0, false))
	for _, ending := range []string{".bin", ".meta", ".sum"} { // renamed by another program
		must(t, os.Rename(filepath.Join(c.Root(), "tensor", "w"+ending), filepath.Join(c.Root(), "tensor", "v"+ending)))
	}
	if list, broken, _ = c.Verify(t.Context()); broken != 8 || !strings.Contains(list[6].Broken, "another file") {
		t.Errorf("%d broken: %+v", broken, list)
	}
}

func TestGC(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	c := open(t, t.TempDir(), nil)
	c.now = func() time.Time { return now }
	for _, k := range []string{"a", "b", "keep:1", "c", "d"} { // 100 bytes each, an hour between
		must(t, c.Put(Tensor, k, make([]byte, 100), 0, false))
		if _, err := c.Get(Tensor, k); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	if _, err := c.Get(Tensor, "a"); err != nil { // used now
		t.Fatal(err)
	}
	temp := filepath.Join(c.Root(), "tensor", ".x.bin.tmp-00000001")
	writeFile(t, temp, "1234")
	must(t, os.Chtimes(temp, now, now))
	fresh := filepath.Join(c.Root(), "tensor", ".x.bin.tmp-00000002")
	writeFile(t, fresh, "1234")

	g := GC{Quota: 300, Keep: map[Kind][]string{Tensor: {"keep:1"}}, Now: now.Add(2 * time.Hour), DryRun: true}
	for _, dry := range []bool{true, false} {
		g.DryRun = dry
		r, err := c.GC(g)
		if err != nil || keysOf(r.Removed) != "b c" || r.Freed != 204 || r.Left != 300 || r.Over || len(r.Leftovers) != 1 {
			t.Fatalf("dry %v: %+v, %v", dry, r, err)
		}
	}
	if keys, err := c.Keys(Tensor); err != nil || strings.Join(keys, " ") != "a d keep:1" {
		t.Errorf("left: %v, %v", keys, err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a file that is being written was removed")
	}
	r, err := c.GC(GC{Quota: 50, Keep: g.Keep})
	if err != nil || keysOf(r.Removed) != "d a" || !r.Over || r.Left != 100 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = c.GC(GC{}); err != nil || len(r.Removed) != 0 || r.Over {
		t.Errorf("no quota: %+v, %v", r, err)
	}
}
