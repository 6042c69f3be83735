package stores

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/store/faultfs"
)

func put(f *Folder, block uint64, v byte) error {
	raw := bytes.Repeat([]byte{byte(block), v}, 50)
	return f.Put(block, []ColdRecord{{Key: block * 10, Length: 62 - 2*uint32(v)}, {Key: block*10 + 1, Offset: 62 - 2*uint32(v), Length: 38}}, raw)
}

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := OpenCold(ColdConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func stamp(f *Folder, key uint64) (byte, error) {
	b, err := f.Get(key)
	if err != nil {
		return 0, err
	}
	return b[1], nil
}

// TestFaults: whatever call of the file system fails, a block is the old one or the
// new one, and an acknowledged block is the new one.
func TestFaults(t *testing.T) {
	for n, fsys := range faultfs.Each(faultfs.Stop) {
		dir := t.TempDir()
		if f := open(t, dir); errors.Join(put(f, 1, 1), put(f, 2, 1), f.Close()) != nil {
			t.Fatal("preparing")
		}
		f, err := OpenCold(ColdConfig{Dir: dir, FS: fsys})
		acked := map[uint64]byte{1: 1, 2: 1}
		tried := map[uint64]byte{}
		if err == nil {
			for _, x := range []struct {
				block uint64
				v     byte
			}{{1, 2}, {3, 1}, {2, 2}} {
				tried[x.block] = x.v
				if put(f, x.block, x.v) == nil {
					acked[x.block] = x.v
				}
			}
			_ = f.Archive()
			_ = f.Close()
		}
		fsys.PowerCut()
		f = open(t, dir)
		for block, want := range acked {
			for _, key := range []uint64{block * 10, block*10 + 1} {
				got, err := stamp(f, key)
				if err != nil || got != want && got != tried[block] {
					t.Fatalf("fault %d: record %d is of version %d, want %d: %v", n, key, got, want, err)
				}
			}
		}
	}
}

// TestKill: a process that is killed while it writes a block, makes it anew for the
// archive or gives it its name loses no block that it reported, and goes on from it.
func TestKill(t *testing.T) {
	if dir := os.Getenv("COLD_KILL_DIR"); dir != "" {
		f, err := OpenCold(ColdConfig{Dir: dir, FS: faultfs.New(0, faultfs.Fail).Tell(await.Step)})
		for block := uint64(1); err == nil && block <= 100; block++ {
			if _, held := stamp(f, block*10); held == nil {
				continue
			}
			if err = put(f, block, 7); err == nil {
				_, err = fmt.Fprintf(await.Step, "acked %d\n", block)
			}
			if err == nil && block%3 == 0 {
				_, _ = fmt.Fprintln(await.Step, "archiving")
				if err = f.Archive(); err == nil {
					_, err = fmt.Fprintf(await.Step, "archived %d\n", block)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	acked, archived := 0, 0
	for _, kill := range []struct{ after, op string }{{"acked", "write"}, {"acked", "rename"}, {"archiving", "write"}, {"archiving", "rename"}, {"archived", "write"}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "COLD_KILL_DIR="+dir)
		last := ""
		lines := await.Kill(t, cmd, func(line string) bool {
			if !strings.HasPrefix(line, "call") {
				last = line
			}
			return strings.HasPrefix(last, kill.after) && strings.Contains(line, " "+kill.op+" ")
		})
		for _, line := range lines {
			n := 0
			if _, err := fmt.Sscanf(line, "acked %d", &n); err == nil && n != acked+1 {
				t.Fatalf("block %d is written after %d", n, acked)
			} else if err == nil {
				acked = n
			}
			_, _ = fmt.Sscanf(line, "archived %d", &archived)
		}
		f := open(t, dir)
		for block := range uint64(acked) {
			if v, err := stamp(f, (block+1)*10); err != nil || v != 7 {
				t.Errorf("killed in a %s: block %d of %d: %d, %v", kill.op, block+1, acked, v, err)
			}
		}
		for block := range uint64(archived) {
			if level := f.blocks[block+1].level; level != archive {
				t.Errorf("block %d of %d that were archived has level %d", block+1, archived, level)
			}
		}
		if s := f.Stats(); !s.Rebuilt || len(s.Damaged) > 0 {
			t.Errorf("after a kill in a %s: %+v", kill.op, s)
		}
	}
	if acked < 9 || archived < 9 {
		t.Errorf("%d blocks were written, %d archived", acked, archived)
	}
}

// TestDamage: a damaged block is named and costs its own records alone.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	if err := errors.Join(put(f, 1, 1), put(f, 2, 1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName(1))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		b := bytes.Clone(good)
		b[at] ^= 0x40
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if raw, err := f.Get(10); err == nil && !bytes.Equal(raw, bytes.Repeat([]byte{1, 1}, 30)) {
			t.Errorf("byte %d flipped: other bytes are read", at)
		} else if err != nil && !errors.Is(err, errDamaged) {
			t.Errorf("byte %d flipped: %v", at, err)
		}
	}
	if err := os.WriteFile(path, good[:len(good)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if s := again.Stats(); !s.Rebuilt || len(s.Damaged) != 1 {
		t.Errorf("%+v", s)
	}
	if _, err := again.Get(10); !errors.Is(err, ErrNotFound) {
		t.Errorf("a record of a damaged block: %v", err)
	}
	if v, err := stamp(again, 20); err != nil || v != 1 {
		t.Errorf("a record of another block: %v", err)
	}
}

// TestReplace: a block that is written again, moved records and removed blocks.
func TestReplace(t *testing.T) {
	f := open(t, t.TempDir())
	raw := []byte("0123456789")
	if err := errors.Join(f.Put(1, []ColdRecord{{1, 0, 5}, {2, 5, 5}}, raw), f.Put(1, []ColdRecord{{1, 5, 5}}, raw)); err != nil {
		t.Fatal(err)
	}
	if b, err := f.Get(1); err != nil || string(b) != "56789" {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := f.Get(2); !errors.Is(err, ErrNotFound) {
		t.Errorf("a record that was left out: %v", err)
	}
	if err := errors.Join(f.Put(2, []ColdRecord{{1, 0, 1}}, raw), f.Remove(1), f.Remove(1)); err != nil {
		t.Fatal(err)
	}
	if b, err := f.Get(1); err != nil || string(b) != "0" {
		t.Errorf("a record that moved: %s, %v", b, err)
	}
	if err := f.Put(3, []ColdRecord{{9, 8, 3}}, raw); !errors.Is(err, errDamaged) {
		t.Errorf("a record outside: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Put(4, nil, raw); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(compose(hot, []ColdRecord{{7, 0, 3}}, []byte("abc")))
	f.Add([]byte("QCLD"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if level, recs, raw, why := parse(b); why == "" && !bytes.Equal(compose(level, recs, raw), b) {
			t.Error("what was read is written in another form")
		}
		var c codec
		defer c.close()
		_, _ = c.decode(b)
	})
}

func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	x, err := OpenCold(ColdConfig{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(put(x, 1, 1), x.Close()); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(dir, "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, "index"), b, 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := OpenCold(ColdConfig{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := stamp(x, 10); err != nil || v != 1 {
			t.Errorf("the record is lost: %v", err)
		}
	})
}

func BenchmarkGet(b *testing.B) {
	f, err := OpenCold(ColdConfig{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	const n, length = 256, 552 // a page of D = 128
	recs, raw := make([]ColdRecord, n), make([]byte, n*length)
	for i := range raw {
		raw[i] = byte(i * i >> 3)
	}
	for i := range recs {
		recs[i] = ColdRecord{uint64(i), uint32(i * length), length}
	}
	if err := f.Put(0, recs, raw); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.Get(77); err != nil {
			b.Fatal(err)
		}
	}
}

// TestStaleIndex: an index of blocks that were written again since is not used,
// even if their files have the same sizes.
func TestStaleIndex(t *testing.T) {
	dir, raw := t.TempDir(), []byte("0123456789")
	f := open(t, dir)
	if err := errors.Join(f.Put(1, []ColdRecord{{1, 0, 5}, {2, 5, 5}}, raw), f.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, fileName(1)))
	if err != nil {
		t.Fatal(err)
	}
	f = open(t, dir)
	if s := f.Stats(); s.Rebuilt {
		t.Error("the index was not used")
	}
	if err := f.Put(1, []ColdRecord{{1, 5, 5}, {2, 0, 5}}, raw); err != nil { // and no Close: the process is killed
		t.Fatal(err)
	}
	if after, err := os.Stat(filepath.Join(dir, fileName(1))); err != nil || after.Size() != before.Size() {
		t.Fatalf("the case needs blocks of one size: %v", err)
	}
	if b, err := open(t, dir).Get(1); err != nil || string(b) != "56789" {
		t.Errorf("record 1 is %q, %v", b, err)
	}
}
