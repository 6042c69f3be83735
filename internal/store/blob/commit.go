package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"atenia/internal/store/durable"
)

// makeFolder creates a directory and makes it durable.
func (c *Cache) makeFolder(folder string) error {
	if _, err := c.fsys.Stat(folder); err == nil {
		return nil
	}
	if err := c.fsys.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return c.fsys.SyncDir(filepath.Dir(folder))
}

// target returns the entry that a put replaces, or nil.
func (c *Cache) target(k Kind, key string, overwrite bool) (*entry, error) {
	e, err := c.find(k, key)
	if e == nil {
		return nil, err
	}
	if !overwrite {
		if ok, err := e.has(e.bin()); ok || err != nil {
			return nil, cmp.Or(err, ErrExists)
		}
	}
	if isSafe(key) || filepath.Base(e.base) == nameOf(key) {
		return e, nil
	}
	if s, err := e.sidecar(); s != nil || err != nil {
		return e, nil
	}
	return nil, nil // shared by several keys: the owner is unknown
}

// keepOld hard-links the files about to be replaced to a second name, or renames
// them on file systems without links. The bytes come last: their second name
// marks a replacement in progress.
func (e *entry) keepOld() error {
	for _, f := range [][2]string{{e.sum(), e.oldSum()}, {e.bin(), e.oldBin()}} {
		if err := e.c.fsys.Remove(f[1]); err != nil && !absent(err) {
			return err
		}
		err := e.c.fsys.Link(f[0], f[1])
		if err != nil && !absent(err) {
			err = e.c.fsys.Rename(f[0], f[1])
		}
		if err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// dropOld removes the files that keepOld kept.
func (e *entry) dropOld() error {
	for _, f := range []string{e.oldBin(), e.oldSum()} {
		if err := e.c.fsys.Remove(f); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// readStable calls look. If the result may stem from a replacement in progress, it
// takes the lock, repairs an interrupted replacement and calls look again.
func (e *entry) readStable(look func() error) error {
	err := look()
	if err == nil || faulty(err) != nil {
		return err
	}
	release, lockErr := e.c.lock()
	if lockErr != nil { // a read-only directory
		return err
	}
	defer release() // fails only if it was not locked
	if again, _ := e.interrupted(); again && e.repair() != nil {
		return err
	}
	return look()
}

// repair completes an interrupted replacement: the new files stay if they are
// intact, otherwise the old ones are restored.
func (e *entry) repair() error {
	h, err := e.header()
	if err != nil {
		return cmp.Or(faulty(err), e.dropOld())
	}
	now, err := e.sidecar()
	if faulty(err) != nil {
		return err
	}
	if _, err := e.read(e.bin(), h, now); err == nil {
		return e.dropOld()
	} else if faulty(err) != nil {
		return err
	}
	before, err := e.c.sidecar(e.oldSum())
	if faulty(err) != nil {
		return err
	}
	for _, s := range []*sidecar{before, now, nil} {
		if _, err := e.read(e.oldBin(), h, s); faulty(err) != nil {
			return err
		} else if err != nil {
			continue
		}
		switch { // the sidecar first: while the old bytes exist, repair is retried
		case s == nil:
			err = e.c.fsys.Remove(e.sum())
		case s == before:
			err = e.c.fsys.Rename(e.oldSum(), e.sum())
		}
		if err != nil && !absent(err) {
			return err
		}
		return errors.Join(e.c.fsys.Rename(e.oldBin(), e.bin()), e.dropOld(), e.c.fsys.SyncDir(filepath.Dir(e.base)))
	}
	return e.dropOld() // neither version is intact: reading reports the corruption
}

// faulty returns err unless it only says that a file is absent or invalid.
func faulty(err error) error {
	if absent(err) || errors.Is(err, ErrInvalid) {
		return nil
	}
	return err
}

// lock excludes other writers that replace or delete entries.
func (c *Cache) lock() (func() error, error) { return durable.Lock(filepath.Join(c.root, ".lock")) }

// linkTemp hard-links a file to a temporary name beside target, or copies it if
// links are not supported. It syncs nothing.
func (c *Cache) linkTemp(file, target string) (string, error) {
	dir, base := filepath.Split(target)
	temp := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%08x", base, rand.Uint32()))
	if c.fsys.Link(file, temp) == nil {
		return temp, nil
	}
	return durable.WriteUnsynced(c.fsys, target, func(w io.Writer) error {
		f, err := c.fsys.OpenFile(file, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	})
}
