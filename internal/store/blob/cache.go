package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"atenia/internal/store/durable"
)

// A Config configures a [Cache]. The zero value is ready to use.
type Config struct {
	// FS is the file system; nil is the operating system's.
	FS durable.FS
	// Now is the clock with which reads of entries are recorded for [Cache.GC]. If
	// nil, reads are not recorded: a cache does not read a clock of its own.
	Now func() time.Time
}

// A Cache keeps entries in a directory across runs. It is safe for concurrent
// use by several goroutines and processes.
type Cache struct {
	root string
	fsys durable.FS
	now  func() time.Time
	// system is set if the file system is the operating system's.
	system bool

	mu    sync.Mutex
	names map[Kind]map[string]string // lower-case file name → file name
}

// Options describe an entry to put.
type Options struct {
	Created   uint64 // seconds since 1970
	Overwrite bool
	Version   uint64 // of the content, counted by the caller
	Codec     Codec
}

// OpenCache returns the cache in a directory, which the first put creates.
func OpenCache(root string, c Config) (*Cache, error) {
	if root == "" {
		return nil, fmt.Errorf("open cache: no folder given: %w", ErrIO)
	}
	return &Cache{root: root, fsys: durable.Default(c.FS), now: c.Now, system: c.FS == nil, names: map[Kind]map[string]string{}}, nil
}

// Root returns the directory.
func (c *Cache) Root() string { return c.root }

// Put writes an entry. It returns [ErrExists] if the entry exists and overwrite
// is not set.
func (c *Cache) Put(k Kind, key string, data []byte, created uint64, overwrite bool) error {
	return c.PutWith(k, key, data, Options{Created: created, Overwrite: overwrite})
}

// PutWith is [Cache.Put] with more options.
func (c *Cache) PutWith(k Kind, key string, data []byte, o Options) error {
	return c.one(func(b *Batch) error { return b.Put(k, key, data, o) })
}

// one is a batch of one entry.
func (c *Cache) one(put func(*Batch) error) error {
	b, err := c.Begin()
	if err != nil {
		return err
	}
	defer b.Abort()
	if err := put(b); err != nil {
		return err
	}
	return b.Commit()
}

// Adopt makes a file written by a [Store] the content of an entry, by a hard
// link where the file system has them. data is the decoded content of the file.
func (c *Cache) Adopt(k Kind, key string, path string, m Meta, data []byte, o Options) error {
	if m.Hash == (Hash{}) {
		o.Codec = m.Codec
		return c.PutWith(k, key, data, o)
	}
	return c.one(func(b *Batch) error {
		return b.put(k, key, data, o, func() (*sidecar, error) {
			st, err := c.fsys.Stat(path)
			if err != nil {
				return nil, err
			}
			return &sidecar{Meta: m, FileBytes: uint64(st.Size())}, nil
		}, func(target string) (string, error) { return c.linkTemp(path, target) })
	})
}

// Get returns the bytes of an entry. It returns [ErrNotFound] unless all its
// files exist, and [ErrCorrupt] if they disagree.
func (c *Cache) Get(k Kind, key string) ([]byte, error) {
	e, err := c.find(k, key)
	if e == nil {
		return nil, c.missing(k, key, err)
	}
	var data []byte
	err = e.readStable(func() (err error) {
		data, err = e.load()
		return err
	})
	if err != nil {
		return nil, c.fail(reasonOf(err), k, key, err)
	}
	if c.now != nil {
		_ = c.fsys.Touch(e.meta(), c.now()) // best effort: a read-only directory records no reads
	}
	return data, nil
}

// Exists reports whether all files of an entry exist.
func (c *Cache) Exists(k Kind, key string) bool {
	e, err := c.find(k, key)
	return err == nil && e != nil && e.readStable(func() error {
		if ok, err := e.whole(); !ok {
			return cmp.Or(err, fs.ErrNotExist)
		}
		return nil
	}) == nil
}

// Stat describes an entry without reading its bytes.
func (c *Cache) Stat(k Kind, key string) (Info, error) {
	e, err := c.find(k, key)
	if e == nil {
		return Info{}, c.missing(k, key, err)
	}
	var info Info
	err = e.readStable(func() (err error) {
		info, err = e.info()
		return err
	})
	if err != nil {
		return Info{}, c.fail(reasonOf(err), k, key, err)
	}
	return info, nil
}

// Delete deletes an entry. It is no error if there is none.
func (c *Cache) Delete(k Kind, key string) error {
	e, err := c.find(k, key)
	if err != nil {
		return c.fail(ErrIO, k, key, err)
	}
	if e == nil {
		return nil
	}
	if err := e.delete(); err != nil {
		return c.fail(ErrIO, k, key, err)
	}
	return nil
}

// Keys returns the keys of a kind, sorted. The key of an entry without a sidecar
// is reconstructed from its file name, in which unsafe characters are replaced.
func (c *Cache) Keys(k Kind) ([]string, error) {
	names, err := c.stems(k)
	if err != nil {
		return nil, c.fail(ErrIO, k, "", err)
	}
	var keys []string
	for _, name := range names {
		e := c.entry(k, name)
		if ok, err := e.whole(); !ok {
			if err != nil {
				return nil, c.fail(ErrIO, k, "", err)
			}
			continue
		}
		if s, _ := e.sidecar(); s != nil {
			name = s.Owner
		}
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// stems returns the file names of a kind without their extensions.
func (c *Cache) stems(k Kind) ([]string, error) {
	files, err := c.fsys.ReadDir(filepath.Join(c.root, k.Folder()))
	if err != nil && !absent(err) {
		return nil, err
	}
	var stems []string
	for _, f := range files {
		if stem, ok := strings.CutSuffix(f.Name(), ".bin"); ok && !strings.HasPrefix(stem, ".") {
			stems = append(stems, stem)
		}
	}
	return stems, nil
}

// missing returns the error of a key that was not found; err, if not nil, is the
// cause.
func (c *Cache) missing(k Kind, key string, err error) error {
	if err != nil {
		return c.fail(ErrIO, k, key, err)
	}
	return c.fail(ErrNotFound, k, key, nil)
}

func (c *Cache) fail(reason error, k Kind, key string, err error) error {
	return &CacheError{Reason: reason, Kind: k, Key: key, Err: err}
}

// reasonOf classifies an error of reading an entry.
func reasonOf(err error) error {
	switch {
	case errors.Is(err, ErrInvalid):
		return ErrCorrupt
	case absent(err):
		return ErrNotFound
	}
	return ErrIO
}

// absent reports whether an error says that a file does not exist or cannot
// exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
