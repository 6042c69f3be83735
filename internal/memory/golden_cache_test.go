package memory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/store/blob"
)

func init() { goldenTopics["cache"] = runCache }

// cacheKinds are the kinds of errors of the cache by their names in cases.
var cacheKinds = map[string]error{
	"Io": blob.ErrIO, "NotFound": blob.ErrNotFound, "Corrupt": blob.ErrCorrupt, "AlreadyExists": blob.ErrExists,
}

// A cacheKind is a kind of entry as cases write it.
type cacheKind blob.Kind

func (k *cacheKind) UnmarshalText(b []byte) error {
	for _, v := range blob.Kinds {
		if v.String() == string(b) {
			*k = cacheKind(v)
			return nil
		}
	}
	return os.ErrInvalid
}

type cacheStep struct {
	Op        string
	Kind      cacheKind
	Key       string
	Data      hexBytes
	Created   uint64 `json:"created_unix"`
	Overwrite bool
	File      string
	Content   []byte
}

type cacheWant struct {
	Error  *wantError
	Data   *hexBytes
	Exists *bool
	Meta   *string `json:"meta_file"`
}

func runCache(t *testing.T, c *goldenCase) {
	switch c.Fn {
	case "checksum32":
		var in struct{ Data hexBytes }
		var want struct{ Checksum32 uint32 }
		c.decode(t, &in, &want)
		if got := blob.Checksum32(in.Data); got != want.Checksum32 {
			t.Errorf("got %d, want %d", got, want.Checksum32)
		}
	case "parse_meta":
		runParseMeta(t, c)
	default:
		var in struct {
			Blocked bool
			Steps   []cacheStep
		}
		var want struct{ Steps []cacheWant }
		c.decode(t, &in, &want)
		root := filepath.Join(t.TempDir(), "a")
		if in.Blocked {
			if err := os.WriteFile(root, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			root = filepath.Join(root, "b")
		}
		cache, err := blob.OpenCache(root, blob.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range in.Steps {
			runCacheStep(t, cache, &in.Steps[i], &want.Steps[i])
		}
	}
}

func runCacheStep(t *testing.T, c *blob.Cache, s *cacheStep, w *cacheWant) {
	t.Helper()
	kind := blob.Kind(s.Kind)
	file := func(ending string) string { return filepath.Join(c.Root(), kind.Folder(), s.Key+"."+ending) }
	switch s.Op {
	case "put":
		w.Error.check(t, "put", c.Put(kind, s.Key, s.Data, s.Created, s.Overwrite), cacheKinds)
		if w.Meta != nil {
			if got, err := os.ReadFile(file("meta")); err != nil || string(got) != *w.Meta {
				t.Errorf("meta file %q, %v, want %q", got, err, *w.Meta)
			}
		}
	case "get":
		got, err := c.Get(kind, s.Key)
		w.Error.check(t, "get", err, cacheKinds)
		checkBytes(t, "get", got, w.Data)
	case "exists":
		if got := c.Exists(kind, s.Key); got != *w.Exists {
			t.Errorf("exists %v, want %v", got, *w.Exists)
		}
	case "tamper":
		if err := os.WriteFile(file(s.File), s.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	case "delete":
		if err := os.Remove(file(s.File)); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("no operation %s", s.Op)
	}
}

func runParseMeta(t *testing.T, c *goldenCase) {
	var in struct{ Meta []byte }
	var want struct {
		Meta  json.RawMessage
		Error *wantError
	}
	c.decode(t, &in, &want)
	got, err := blob.ParseHeader(string(in.Meta))
	want.Error.check(t, "parse", err, map[string]error{"Corrupt": blob.ErrInvalid})
	if want.Error != nil {
		return
	}
	var fields struct {
		Kind     cacheKind
		Bytes    uint64 `json:"len_bytes"`
		Checksum uint32 `json:"checksum32"`
		Created  uint64 `json:"created_unix"`
	}
	if err := json.Unmarshal(want.Meta, &fields); err != nil {
		t.Fatal(err)
	}
	w := blob.Header{Kind: blob.Kind(fields.Kind), Bytes: fields.Bytes, Checksum32: fields.Checksum, Created: fields.Created}
	if got != w {
		t.Errorf("got %+v, want %+v", got, w)
	}
}
