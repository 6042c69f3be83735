package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"atenia/internal/durable"
)

// put writes an entry: data in a file that content makes under a temporary
// name, and what describes it.
func (c *Cache) put(k Kind, key string, data []byte, o Options, describe func() (*Sidecar, error), content func(path string) (string, error)) error {
	err := func() error {
		folder := filepath.Join(c.root, k.Folder())
		if err := c.makeFolder(folder); err != nil {
			return err
		}
		if _, err := c.target(k, key, o.Overwrite); err != nil { // before anything is written
			return err
		}
		var checksum uint32
		var wg sync.WaitGroup
		wg.Go(func() { checksum = Checksum32(data) }) // slower than the disk: beside it
		defer wg.Wait()
		s, err := describe()
		if err != nil {
			return err
		}
		bin, err := content(filepath.Join(folder, nameOf(key)+".bin"))
		if err != nil {
			return err
		}
		wg.Wait()
		s.Kind, s.Owner, s.Version, s.Checksum32 = k, key, o.Version, checksum
		h := Header{Kind: k, Bytes: uint64(len(data)), Checksum32: s.Checksum32, Created: o.Created}
		return c.commit(bin, h, s, o.Overwrite)
	}()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrExists):
		return c.fail(ErrExists, k, key, nil)
	}
	return c.fail(ErrIO, k, key, err)
}

// makeFolder makes a folder that is there after a power cut, too.
func (c *Cache) makeFolder(folder string) error {
	if _, err := c.fsys.Stat(folder); err == nil {
		return nil
	}
	if err := c.fsys.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return errors.Join(c.fsys.SyncDir(c.root), c.fsys.SyncDir(filepath.Dir(c.root)))
}

// commit gives the new files their names.
func (c *Cache) commit(bin string, h Header, s *Sidecar, overwrite bool) (err error) {
	temps := []string{bin, "", ""}
	defer func() {
		if err != nil {
			for _, t := range temps {
				if t != "" {
					_ = c.fsys.Remove(t) // gone if it has got its name
				}
			}
		}
	}()
	for i, text := range []string{h.String(), s.String()} {
		temps[1+i], err = durable.WriteTemp(c.fsys, filepath.Join(filepath.Dir(bin), nameOf(s.Owner)), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	release, err := c.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	e, err := c.target(s.Kind, s.Owner, overwrite)
	if err != nil {
		return err
	}
	if e == nil {
		if e, err = c.place(s.Kind, s.Owner); err != nil {
			return err
		}
	}
	return e.replace(temps[0], temps[1], temps[2])
}

// target returns the entry that a put replaces, nil if there is none.
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
	return nil, nil // the bytes of one of several keys, who knows which
}

// replace renames temporary files. What makes the new entry valid is renamed
// last: of an entry that is there the header, since a checksum in it tells
// which bytes it is for; of a new one the bytes.
func (e *entry) replace(bin, meta, sum string) error {
	if again, err := e.interrupted(); err != nil {
		return err
	} else if again {
		if err := e.repair(); err != nil {
			return err
		}
	}
	old, err := e.whole()
	if err != nil {
		return err
	}
	if old {
		if err := e.keepOld(); err != nil {
			return err
		}
	}
	steps := [][2]string{{sum, e.sum()}, {meta, e.meta()}, {bin, e.bin()}}
	if there, err := e.has(e.bin()); err != nil {
		return err
	} else if old || there {
		steps = [][2]string{{bin, e.bin()}, {sum, e.sum()}, {meta, e.meta()}}
	}
	for i, s := range steps {
		if err := e.c.fsys.Rename(s[0], s[1]); err != nil {
			return err
		}
		if i > 0 { // the first two in any order, then the last
			if err := e.c.fsys.SyncDir(filepath.Dir(e.base)); err != nil {
				return err
			}
		}
	}
	if old {
		return e.dropOld()
	}
	return nil
}

// keepOld gives the files that are about to be replaced a second name, or
// another one where a file can have but one. The bytes come last: it is they
// that say that something is being replaced.
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
	return e.c.fsys.SyncDir(filepath.Dir(e.base))
}

// dropOld removes what keepOld kept.
func (e *entry) dropOld() error {
	for _, f := range []string{e.oldBin(), e.oldSum()} {
		if err := e.c.fsys.Remove(f); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// settled calls look, and if what it finds may be the middle of a replacement,
// calls it once more when nobody replaces anything and what a killed process
// left has been repaired.
func (e *entry) settled(look func() error) error {
	err := look()
	if err == nil || faulty(err) != nil {
		return err
	}
	release, lockErr := e.c.lock()
	if lockErr != nil { // a folder that may only be read
		return err
	}
	defer release() // fails only for what was not locked
	if again, _ := e.interrupted(); again && e.repair() != nil {
		return err
	}
	return look()
}

// repair ends a replacement that was interrupted: the new files stay if they
// are whole, otherwise the old ones come back.
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
	for _, s := range []*Sidecar{before, now, nil} {
		if _, err := e.read(e.oldBin(), h, s); faulty(err) != nil {
			return err
		} else if err != nil {
			continue
		}
		switch { // the sidecar first: as long as the old bytes are there, this is done again
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
	return e.dropOld() // neither is: the bytes are broken, and reading says so
}

// faulty returns an error that says nothing about what is in a file.
func faulty(err error) error {
	if absent(err) || errors.Is(err, ErrInvalid) {
		return nil
	}
	return err
}

// lock excludes others that replace or delete entries.
func (c *Cache) lock() (func() error, error) { return durable.Lock(filepath.Join(c.root, ".lock")) }

// linkTemp gives a file a temporary second name beside target, or copies it
// where that cannot be.
func (c *Cache) linkTemp(file, target string) (string, error) {
	dir, base := filepath.Split(target)
	temp := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%08x", base, rand.Uint32()))
	if c.fsys.Link(file, temp) == nil {
		return temp, nil
	}
	return durable.WriteTemp(c.fsys, target, func(w io.Writer) error {
		f, err := c.fsys.OpenFile(file, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	})
}
