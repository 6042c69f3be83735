package blob

import (
	"errors"
	"path/filepath"
	"strings"
	"time"
)

// An entry locates the files of one cache entry.
type entry struct {
	c    *Cache
	kind Kind
	base string // path without an extension
}

func (c *Cache) entry(k Kind, name string) *entry {
	return &entry{c, k, filepath.Join(c.root, k.Folder(), name)}
}

func (e *entry) bin() string  { return e.base + ".bin" }
func (e *entry) meta() string { return e.base + ".meta" }
func (e *entry) sum() string  { return e.base + ".sum" }

// The names of the old files while they are being replaced.
func (e *entry) oldBin() string { return e.base + ".bin.old" }
func (e *entry) oldSum() string { return e.base + ".sum.old" }

// has reports whether all of the files exist.
func (e *entry) has(paths ...string) (bool, error) {
	for _, p := range paths {
		if _, err := e.c.fsys.Stat(p); err != nil {
			if absent(err) {
				err = nil
			}
			return false, err
		}
	}
	return true, nil
}

func (e *entry) whole() (bool, error) { return e.has(e.meta(), e.bin()) }

// interrupted reports whether a put was started and not completed.
func (e *entry) interrupted() (bool, error) { return e.has(e.oldBin()) }

// taken reports whether any file has the entry's name.
func (e *entry) taken() (bool, error) {
	if ok, err := e.has(e.bin()); ok || err != nil {
		return ok, err
	}
	return e.has(e.meta())
}

// find returns the entry of a key, or nil: the files of its own name or, if no
// sidecar names another owner, those of the shared name.
func (c *Cache) find(k Kind, key string) (*entry, error) {
	for _, name := range []string{nameOf(key), otherName(key)} {
		e := c.entry(k, name)
		ok, err := e.taken()
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		s, err := e.sidecar()
		if err != nil && !errors.Is(err, ErrInvalid) {
			return nil, err
		}
		if s == nil || s.Owner == key {
			return e, nil
		}
	}
	return nil, nil
}

// otherName returns the alternative file name of a key.
func otherName(key string) string {
	if isSafe(key) {
		return suffixed(key)
	}
	return safe(key)
}

// place returns the entry that a new key is written to.
func (c *Cache) place(k Kind, key string) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names[k] == nil {
		stems, err := c.stems(k)
		if err != nil {
			return nil, err
		}
		c.names[k] = map[string]string{}
		for _, s := range stems {
			c.names[k][strings.ToLower(s)] = s
		}
	}
	name := nameOf(key)
	taken, err := c.entry(k, name).taken()
	if err != nil {
		return nil, err
	}
	if same, ok := c.names[k][strings.ToLower(name)]; taken || ok && same != name {
		name = suffixed(key)
	}
	c.names[k][strings.ToLower(name)] = name
	return c.entry(k, name), nil
}

// header reads the .meta file.
func (e *entry) header() (Header, error) {
	text, err := e.c.fsys.ReadFile(e.meta())
	if err != nil {
		return Header{}, err
	}
	h, err := ParseHeader(string(text))
	if err == nil && h.Kind != e.kind {
		err = invalid("it is of kind %s", h.Kind.Folder())
	}
	return h, err
}

// sidecar reads the .sum file; nil means there is none.
func (e *entry) sidecar() (*sidecar, error) { return e.c.sidecar(e.sum()) }

func (c *Cache) sidecar(path string) (*sidecar, error) {
	text, err := c.fsys.ReadFile(path)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSidecar(string(text))
}

// load reads and verifies an entry.
func (e *entry) load() ([]byte, error) {
	if _, err := e.c.fsys.Stat(e.bin()); err != nil { // an absent entry is not a corrupt one
		return nil, err
	}
	h, err := e.header()
	if err != nil {
		return nil, err
	}
	s, err := e.sidecar()
	if err != nil {
		return nil, err
	}
	return e.read(e.bin(), h, s)
}

// read reads a file as the content of an entry and verifies it against the
// header and, if not nil, the sidecar.
func (e *entry) read(path string, h Header, s *sidecar) ([]byte, error) {
	if s != nil && s.of(h) {
		return read(e.c.fsys, path, s.Meta)
	}
	st, err := e.c.fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if uint64(st.Size()) != h.Bytes {
		return nil, invalid("length mismatch: .meta says %d bytes, there are %d", h.Bytes, st.Size())
	}
	data, err := read(e.c.fsys, path, Meta{OriginalBytes: h.Bytes})
	if err != nil {
		return nil, err
	}
	if got := Checksum32(data); got != h.Checksum32 {
		return nil, invalid("checksum mismatch: .meta says %d, the bytes have %d", h.Checksum32, got)
	}
	return data, nil
}

// An Info describes an entry.
type Info struct {
	Kind      Kind      `json:"kind"`
	Key       string    `json:"key"`
	Bytes     uint64    `json:"bytes"`      // decoded
	FileBytes uint64    `json:"file_bytes"` // on the disk
	Created   uint64    `json:"created_unix"`
	LastUse   time.Time `json:"last_use"` // time of the last read, or of the put
	Codec     Codec     `json:"codec"`
	Version   uint64    `json:"version"`
	Hash      Hash      `json:"xxh3"` // zero without a sidecar
	Path      string    `json:"path"` // of the .bin file
	// Foreign is set if there is no sidecar, so that the owner is unknown.
	Foreign bool `json:"foreign"`
	// Broken says what is wrong with the entry; empty if no fault is known.
	Broken string `json:"broken,omitempty"`
}

func (e *entry) info() (Info, error) {
	h, err := e.header()
	if err != nil {
		return Info{}, err
	}
	bin, err := e.c.fsys.Stat(e.bin())
	if err != nil {
		return Info{}, err
	}
	meta, err := e.c.fsys.Stat(e.meta())
	if err != nil {
		return Info{}, err
	}
	s, err := e.sidecar()
	if err != nil {
		return Info{}, err
	}
	i := Info{Kind: e.kind, Key: filepath.Base(e.base), Bytes: h.Bytes, FileBytes: uint64(bin.Size()), Created: h.Created,
		LastUse: meta.ModTime(), Path: e.bin(), Foreign: s == nil}
	if s != nil {
		i.Key = s.Owner
		if s.of(h) {
			i.Codec, i.Version, i.Hash = s.Codec, s.Version, s.Hash
		}
	}
	return i, nil
}
