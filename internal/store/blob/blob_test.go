package blob

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/store/faultfs"
)

func TestRLE(t *testing.T) {
	t.Run("MM-11", func(t *testing.T) {
		got, err := Encode(RLE, bytes.Repeat([]byte{7}, 300))
		if err != nil || !bytes.Equal(got, []byte{0xff, 7, 0x2d, 7}) {
			t.Fatalf("got %x, %v", got, err)
		}
		back, err := Decode(RLE, got, 300)
		if err != nil || !bytes.Equal(back, bytes.Repeat([]byte{7}, 300)) {
			t.Fatalf("got %d bytes, %v", len(back), err)
		}
		for _, c := range []struct {
			stream []byte
			size   uint64
			want   string
		}{{[]byte{1}, 1, "odd"}, {[]byte{0, 5}, 0, "zero count"}, {got, 299, "300 bytes, want 299"}, {got, ^uint64(0), "want"}} {
			_, err := Decode(RLE, c.stream, c.size)
			if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "Invalid RLE stream") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%x as %d bytes: %v", c.stream, c.size, err)
			}
		}
	})
	if got, err := Encode(RLE, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing is %x, %v", got, err)
	}
}

func TestNames(t *testing.T) {
	s := NewStore("dir", nil)
	t.Run("MM-12", func(t *testing.T) {
		got := filepath.Base(s.Path("a/b c.é"))
		stem, suffix, ok := strings.Cut(got, "-x")
		if stem+".bin" != "tensor_a_b_c__.bin" || !ok || len(suffix) != 16+len(".bin") {
			t.Errorf("got %s", got)
		}
		if got := filepath.Base(s.Path("a_b-9Z")); got != "tensor_a_b-9Z.bin" {
			t.Errorf("a safe id became %s", got)
		}
	})
	long := strings.Repeat("q", 180)
	if got := filepath.Base(s.Path(long)); got != "tensor_"+long+".bin" {
		t.Errorf("180 bytes became %s", got)
	}
	for _, id := range []string{long + "q", strings.Repeat("é", 200), strings.Repeat("/", 3000), ""} {
		if got := filepath.Base(s.Path(id)); len(got) > 200 || id != "" && !strings.Contains(got, "-x") {
			t.Errorf("%d bytes became %s", len(id), got)
		}
	}
	seen := map[string]string{}
	for _, id := range []string{"a/b", "a_b", "a.b", "a b", "a:b", "a-x0123456789abcdef"} {
		p := s.Path(id)
		if other, ok := seen[p]; ok {
			t.Errorf("%q and %q are both %s", id, other, p)
		}
		seen[p] = id
	}
}

func TestStore(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "a", "b"), nil)
	if err := NewStore("", nil).EnsureDir(); !errors.Is(err, ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
	if err := s.EnsureDir(); err != nil {
		t.Fatal(err)
	}
	data := append(bytes.Repeat([]byte{3}, 1000), 1, 2, 2)
	t.Run("MM-13", func(t *testing.T) {
		for _, c := range Codecs {
			path, m, err := s.Write("t1", data, c)
			if err != nil || m.Codec != c || m.OriginalBytes != uint64(len(data)) {
				t.Fatalf("%v: %+v, %v", c, m, err)
			}
			if got, err := s.Read(path, m); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%v: %d bytes, %v", c, len(got), err)
			}
			if got, err := s.Read(path, Meta{Codec: c, OriginalBytes: m.OriginalBytes}); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%v without checksums: %d bytes, %v", c, len(got), err)
			}
		}
	})
	p1, m1, err1 := s.Write("w1", []byte("lower"), None)
	p2, m2, err2 := s.Write("W1", []byte("UPPER"), None)
	if err := errors.Join(err1, err2); err != nil || strings.EqualFold(p1, p2) {
		t.Fatalf("%s and %s, %v", p1, p2, err)
	}
	for _, c := range []struct {
		path string
		m    Meta
		want string
	}{{p1, m1, "lower"}, {p2, m2, "UPPER"}} {
		if got, err := s.Read(c.path, c.m); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", c.path, got, err)
		}
		if err := errors.Join(s.Delete(c.path), s.Delete(c.path)); err != nil {
			t.Error(err)
		}
		if _, err := s.Read(c.path, c.m); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("deleted, and %v", err)
		}
	}
}

// A single flipped bit anywhere, a byte more or less is found out.
func TestBrokenBlob(t *testing.T) {
	s := NewStore(t.TempDir(), faultfs.New(0, faultfs.Stop))
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, chunkBytes+1000)
	for i := range data {
		data[i] = byte(rng.IntN(3))
	}
	for _, c := range Codecs {
		path, m, err := s.Write("t", data, c)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, spoil := range []func([]byte) []byte{
			func(b []byte) []byte { return append(b, 0) },
			func(b []byte) []byte { return b[:len(b)-1] },
			func(b []byte) []byte { return nil },
			func(b []byte) []byte { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return b },
			func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		} {
			if err := os.WriteFile(path, spoil(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(path, m); !errors.Is(err, ErrInvalid) {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
}
