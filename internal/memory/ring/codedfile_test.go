package ring

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

var le = binary.LittleEndian

// TestWriteReplaces: a file is replaced as a whole: a link by a file, and nothing is
// written to what it leads to; a writing that fails leaves what was there.
func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	model, victim, path := filepath.Join(dir, "model"), filepath.Join(dir, "victim"), filepath.Join(dir, "model.coded")
	mine := make([]byte, 1<<20)
	for name, b := range map[string][]byte{model: mine, victim: []byte("mine")} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Skip(err)
	}
	good := []CodedSource{{Name: "w", File: model, Bytes: int64(len(mine)), Codec: CodecOf(0)}}
	id := CodedID{1, 2, 3}
	written := func(what string) {
		t.Helper()
		if b, err := os.ReadFile(victim); string(b) != "mine" {
			t.Errorf("%s: a link was followed: %d bytes, %v", what, len(b), err)
		}
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s: no file: %v", what, err)
		}
		if f, err := OpenCoded(path, id); err != nil || len(f.Weights) != 1 {
			t.Errorf("%s: %+v, %v", what, f, err)
		}
	}
	if err := WriteCoded(t.Context(), path, id, good); err != nil {
		t.Fatal(err)
	}
	written("in place of a link")
	long := []CodedSource{good[0], {Name: "x", File: model, Offset: 1, Bytes: int64(len(mine)), Codec: CodecOf(0)}}
	if err := WriteCoded(t.Context(), path, id, long); !errors.Is(err, errCut) {
		t.Errorf("more than the model has: %v", err)
	}
	written("after a failure")
}

// FuzzOpen gives an index whose checksum fits.
func FuzzOpen(f *testing.F) {
	id := CodedID{1, 2, 3}
	good, err := json.Marshal([]CodedWeight{{Name: "w", Bytes: 8, Chunks: []CodedChunk{{Offset: 0, Bytes: 8}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, []byte("12345678"))
	f.Add([]byte(`[{"Name":"w","Bytes":9223372036854775807}]`), []byte{})
	f.Add([]byte(`[{},null]`), []byte{})
	f.Fuzz(func(t *testing.T, index, chunks []byte) {
		path := filepath.Join(t.TempDir(), "model.coded")
		end, err := marshal(nil, id, int64(len(chunks)))
		if err != nil {
			t.Fatal(err)
		}
		tail := end[len(end)-footerBytes:]
		le.PutUint64(tail[40:], uint64(len(index)))
		le.PutUint32(tail[48:], checksum(index))
		if err := os.WriteFile(path, append(append(append([]byte{}, chunks...), index...), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenCoded(path, id)
		if err != nil {
			if _, ok := errors.AsType[*formatError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, w := range r.Weights {
			for _, c := range w.Chunks {
				if c.Offset < 0 || c.Offset+int64(c.Bytes) > int64(len(chunks)) {
					t.Errorf("a chunk of %d bytes at %d of %d", c.Bytes, c.Offset, len(chunks))
				}
			}
		}
	})
}
