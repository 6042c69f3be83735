package amp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"atenia/internal/store/durable"
)

// A key identifies the file that a cache entry describes, and the program that
// queried it, which another build may do better: if any field differs, the library
// is queried again.
type key struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	MTime  int64  `json:"mtime_ns"`
	SHA256 string `json:"sha256"`
	Build  string `json:"build"` // see [build]
}

// A cacheEntry is what is known of one library: its description, or why it must not
// be loaded.
type cacheEntry struct {
	key
	Quarantined string          `json:"quarantined,omitempty"`
	Manifest    json.RawMessage `json:"manifest,omitempty"`
	manifest    *Manifest
}

// build names this program: by its file, since versions of unreleased ones are equal.
var build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return runtime.Version()
	}
	info, err := os.Stat(path)
	if err != nil {
		return runtime.Version()
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
})

// keyOf reads the file: the checksum detects changed files whose time was set
// back.
func keyOf(path string) (key, error) {
	f, err := os.Open(path)
	if err != nil {
		return key{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return key{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return key{}, err
	}
	return key{path, info.Size(), info.ModTime().UnixNano(), hex.EncodeToString(h.Sum(nil)), build()}, nil
}

// file returns the path of the entry for a library.
func (cfg *ScanConfig) file(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(cfg.Cache, hex.EncodeToString(sum[:16])+".json")
}

// remembered returns the entry for a key, nil if there is none. An unreadable
// cacheEntry counts as none and is overwritten.
func (cfg *ScanConfig) remembered(k key) *cacheEntry {
	if cfg.Cache == "" {
		return nil
	}
	b, err := read(cfg.file(k.Path))
	if err != nil {
		return nil
	}
	e, err := parseEntry(b)
	if err != nil || e.key != k {
		return nil
	}
	return e
}

func parseEntry(text []byte) (*cacheEntry, error) {
	e := &cacheEntry{}
	if err := json.Unmarshal(text, e); err != nil {
		return nil, err
	}
	if e.Quarantined != "" {
		return e, nil
	}
	var err error
	e.manifest, err = ParseManifest(e.Manifest)
	return e, err
}

// remember writes an entry.
func (cfg *ScanConfig) remember(e *cacheEntry) error {
	if cfg.Cache == "" {
		return nil
	}
	if e.manifest != nil {
		e.Manifest = e.manifest.Encode()
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.Cache, 0o755); err != nil {
		return err
	}
	return durable.Replace(cfg.file(e.Path), func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(append(b, '\n')))
		return err
	})
}

func (e *cacheEntry) library(s Source) LibraryInfo {
	l := LibraryInfo{Path: e.Path, Source: s, Manifest: e.manifest}
	if e.Quarantined != "" {
		l.Quarantined, l.Err = true, errors.New(e.Quarantined)
	}
	return l
}
