package memory_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atenia/internal/store/blob"
)

func init() {
	goldenTopics["rle"] = runRLE
	goldenTopics["blobs"] = runBlobs
}

// dataKinds are the kinds of errors of data by their names in cases.
var dataKinds = map[string]error{"Unsupported": blob.ErrInvalid}

func runRLE(t *testing.T, c *goldenCase) {
	if c.Fn == "rle_compress" {
		var in struct{ Data hexBytes }
		var want struct {
			Stream hexBytes
			Kind   blob.Codec
			Bytes  int `json:"original_bytes"`
		}
		c.decode(t, &in, &want)
		got, err := blob.Encode(want.Kind, in.Data)
		if err != nil || !bytes.Equal(got, want.Stream) || want.Bytes != len(in.Data) {
			t.Errorf("got %x, %v, want %x", got, err, want.Stream)
		}
		return
	}
	var in struct {
		Stream hexBytes
		Bytes  uint64 `json:"original_bytes"`
	}
	var want struct {
		Data  *hexBytes
		Error *wantError
	}
	c.decode(t, &in, &want)
	got, err := blob.Decode(blob.RLE, in.Stream, in.Bytes)
	want.Error.check(t, "decode", err, dataKinds)
	checkBytes(t, "decoded", got, want.Data)
}

func checkBytes(t *testing.T, what string, got []byte, want *hexBytes) {
	t.Helper()
	if want != nil && (got == nil && len(*want) > 0 || !bytes.Equal(got, *want)) || want == nil && got != nil {
		t.Errorf("%s: got %x, want %s", what, got, hex.EncodeToString(deref(want)))
	}
}

func deref(h *hexBytes) []byte {
	if h == nil {
		return nil
	}
	return *h
}

var suffix = regexp.MustCompile(`^(.*)-x[0-9a-f]{16}\.bin$`)

func runBlobs(t *testing.T, c *goldenCase) {
	if c.Fn == "blob_path" {
		var in struct {
			ID string `json:"tensor_id"`
		}
		var want struct {
			Name   string `json:"seed_name"`
			Suffix bool   `json:"needs_suffix"`
		}
		c.decode(t, &in, &want)
		got := filepath.Base(blob.NewStore("dir", nil).Path(in.ID))
		m := suffix.FindStringSubmatch(got)
		if !want.Suffix && got != want.Name || want.Suffix && (m == nil || !strings.HasPrefix(want.Name, m[1])) {
			t.Errorf("%q is in %s, want %s, with a suffix: %v", in.ID, got, want.Name, want.Suffix)
		}
		return
	}
	var in struct {
		Data      hexBytes
		Codec     blob.Codec `json:"compression"`
		Overwrite *hexBytes  `json:"overwrite_file_with"`
		Meta      struct {
			Kind  blob.Codec
			Bytes uint64 `json:"original_bytes"`
		} `json:"read_meta"`
	}
	var want struct {
		File  hexBytes
		Data  *hexBytes
		Error *wantError
	}
	c.decode(t, &in, &want)
	s := blob.NewStore(t.TempDir(), nil)
	path, _, err := s.Write("t", in.Data, in.Codec)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.ReadRaw(path); err != nil || !bytes.Equal(got, want.File) {
		t.Errorf("file %x, %v, want %x", got, err, want.File)
	}
	if in.Overwrite != nil {
		if err := os.WriteFile(path, *in.Overwrite, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Read(path, blob.Meta{Codec: in.Meta.Kind, OriginalBytes: in.Meta.Bytes})
	want.Error.check(t, "read", err, dataKinds)
	checkBytes(t, "read", got, want.Data)
}
