package coded

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

var le = binary.LittleEndian

// FuzzOpen gives an index whose checksum fits.
func FuzzOpen(f *testing.F) {
	id := ID{1, 2, 3}
	good, err := json.Marshal([]Weight{{Name: "w", Bytes: 8, Chunks: []Chunk{{Offset: 0, Bytes: 8}}}})
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
		le.PutUint32(tail[48:], Checksum(index))
		if err := os.WriteFile(path, append(append(append([]byte{}, chunks...), index...), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, id)
		if err != nil {
			if _, ok := errors.AsType[*FormatError](err); !ok {
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
