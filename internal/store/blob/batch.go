package blob

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"atenia/internal/fault"
	"atenia/internal/store/durable"
)

// A Batch puts several entries with the syncs of one: their bytes are written
// as they come and become entries together, in [Batch.Commit]. Wherever that is
// interrupted, each entry is the old one or the new one. A Batch is used by one
// goroutine; its memory is that of the entries' names.
type Batch struct {
	c       *Cache
	release func() error // tells cleaners that a writer lives
	puts    []put
	also    []string // files to sync with those of the entries
}

// A put is an entry to be: its temporary files and what is known of it.
type put struct {
	sidecar        *sidecar
	bin, meta, sum string // temporary
	overwrite      bool

	e     *entry // since the lock is held
	whole bool   // there is an old entry, which stays readable meanwhile
	there bool   // there are old bytes
}

// Begin begins a batch. It must be ended by [Batch.Commit] or [Batch.Abort].
func (c *Cache) Begin() (*Batch, error) {
	if err := c.makeFolder(c.root); err != nil {
		return nil, c.fail(ErrIO, Tensor, "", err)
	}
	release, err := durable.LockShared(c.writers())
	if err != nil {
		return nil, c.fail(ErrIO, Tensor, "", err)
	}
	return &Batch{c: c, release: release}, nil
}

// writers is the file that writers have a shared lock of.
func (c *Cache) writers() string { return filepath.Join(c.root, ".writers") }

// SyncWith makes Commit sync another file, too, before the first entry changes.
func (b *Batch) SyncWith(path string) { b.also = append(b.also, path) }

// Abort gives up what has not been committed. It may be called more than once.
func (b *Batch) Abort() {
	for i := range b.puts {
		for _, t := range b.puts[i].temps() {
			_ = b.c.fsys.Remove(t) // a no-op once renamed
		}
	}
	b.puts = nil
	if b.release != nil {
		_ = b.release()
		b.release = nil
	}
}

func (p *put) temps() []string {
	return slices.DeleteFunc([]string{p.bin, p.meta, p.sum}, func(s string) bool { return s == "" })
}

// Put writes the bytes of an entry. It returns [ErrExists] if the entry exists
// and may not be overwritten.
func (b *Batch) Put(k Kind, key string, data []byte, o Options) error {
	content, err := Encode(o.Codec, data)
	if err != nil {
		return b.c.fail(ErrIO, k, key, err)
	}
	return b.put(k, key, data, o, func() (*sidecar, error) {
		m := Meta{Codec: o.Codec, OriginalBytes: uint64(len(data)), Hash: HashOf(data), Chunks: chunkSums(content)}
		return &sidecar{Meta: m, FileBytes: uint64(len(content))}, nil
	}, func(path string) (string, error) {
		return durable.WriteUnsynced(b.c.fsys, path, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	})
}

// put writes the files of an entry: its data in a temporary file made by
// content, and those that describe it.
func (b *Batch) put(k Kind, key string, data []byte, o Options, describe func() (*sidecar, error), content func(path string) (string, error)) error {
	c := b.c
	p := put{overwrite: o.Overwrite}
	err := func() error {
		folder := filepath.Join(c.root, k.Folder())
		if err := c.makeFolder(folder); err != nil {
			return err
		}
		if _, err := c.target(k, key, o.Overwrite); err != nil { // fail before anything is written
			return err
		}
		var checksum uint32
		var wg fault.Group
		wg.Go(func() { checksum = Checksum32(data) }) // slower than the disk, so it runs beside the write
		defer wg.Wait()
		s, err := describe()
		if err != nil {
			return err
		}
		name := filepath.Join(folder, nameOf(key))
		if p.bin, err = content(name + ".bin"); err != nil {
			return err
		}
		wg.Wait()
		s.Kind, s.Owner, s.Version, s.Checksum32 = k, key, o.Version, checksum
		h := Header{Kind: k, Bytes: uint64(len(data)), Checksum32: s.Checksum32, Created: o.Created}
		p.sidecar = s
		for _, f := range []struct {
			temp *string
			text string
		}{{&p.meta, h.String()}, {&p.sum, s.String()}} {
			if *f.temp, err = durable.WriteUnsynced(c.fsys, name, func(w io.Writer) error {
				_, err := io.WriteString(w, f.text)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	}()
	b.puts = append(b.puts, p) // also in part: Abort removes its files
	return c.putError(k, key, err)
}

func (c *Cache) putError(k Kind, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrExists):
		return c.fail(ErrExists, k, key, nil)
	}
	return c.fail(ErrIO, k, key, err)
}

// Commit makes what was put entries, durably, and ends the batch. All entries
// share one sync of their files and at most three of their folders.
func (b *Batch) Commit() error {
	defer b.Abort()
	if len(b.puts) == 0 {
		return nil
	}
	names := slices.Clone(b.also)
	for i := range b.puts {
		names = append(names, b.puts[i].temps()...)
	}
	last := b.puts[len(b.puts)-1].sidecar
	if err := b.c.fsys.SyncFiles(names); err != nil {
		return b.c.putError(last.Kind, last.Owner, err)
	}
	release, err := b.c.lock()
	if err != nil {
		return b.c.putError(last.Kind, last.Owner, err)
	}
	at, err := b.replace()
	if err = errors.Join(err, release()); err != nil {
		s := b.puts[at].sidecar
		return b.c.putError(s.Kind, s.Owner, err)
	}
	return nil
}

// replace renames the temporary files, in steps that all entries take together.
// The file that makes a new entry valid comes in the last one: when an entry is
// replaced, the header, whose checksum selects the bytes it belongs to; for a
// new entry, the bytes. It returns which entry could not be replaced.
func (b *Batch) replace() (at int, err error) {
	kept := false
	for i := range b.puts {
		if err := b.find(&b.puts[i]); err != nil {
			return i, err
		}
	}
	for i := range b.puts {
		if p := &b.puts[i]; p.whole {
			kept = true
			if err := p.e.keepOld(); err != nil {
				return i, err
			}
		}
	}
	if kept {
		if err := b.syncFolders(); err != nil {
			return 0, err
		}
	}
	for _, last := range []bool{false, true} {
		for i := range b.puts {
			p := &b.puts[i]
			for _, s := range p.steps(last) {
				if err := b.c.fsys.Rename(s[0], s[1]); err != nil {
					return i, err
				}
			}
		}
		if err := b.syncFolders(); err != nil {
			return 0, err
		}
	}
	for i := range b.puts {
		if p := &b.puts[i]; p.whole {
			if err := p.e.dropOld(); err != nil {
				return i, err
			}
		}
	}
	return 0, nil
}

// find looks for what a put replaces, under the lock, and repairs it if a
// replacement was interrupted.
func (b *Batch) find(p *put) (err error) {
	s := p.sidecar
	if p.e, err = b.c.target(s.Kind, s.Owner, p.overwrite); err != nil {
		return err
	}
	if p.e == nil {
		if p.e, err = b.c.place(s.Kind, s.Owner); err != nil {
			return err
		}
	}
	for i := range b.puts {
		if q := &b.puts[i]; q != p && q.e != nil && q.e.base == p.e.base {
			return fmt.Errorf("it is put twice in one batch, also as %q", q.sidecar.Owner)
		}
	}
	if again, err := p.e.interrupted(); err != nil {
		return err
	} else if again {
		if err := p.e.repair(); err != nil {
			return err
		}
	}
	if p.whole, err = p.e.whole(); err == nil {
		p.there, err = p.e.has(p.e.bin())
	}
	return err
}

// steps returns the renames of a put that come before the first sync of the
// folder, or the last one.
func (p *put) steps(last bool) [][2]string {
	bin, meta, sum := [2]string{p.bin, p.e.bin()}, [2]string{p.meta, p.e.meta()}, [2]string{p.sum, p.e.sum()}
	replaced := p.whole || p.there
	switch {
	case replaced && last:
		return [][2]string{meta}
	case replaced:
		return [][2]string{bin, sum}
	case last:
		return [][2]string{bin}
	}
	return [][2]string{sum, meta}
}

// syncFolders makes the names in the folders of the batch durable.
func (b *Batch) syncFolders() error {
	var folders []string
	for i := range b.puts {
		folders = append(folders, filepath.Dir(b.puts[i].e.base))
	}
	slices.Sort(folders)
	for _, f := range slices.Compact(folders) {
		if err := b.c.fsys.SyncDir(f); err != nil {
			return err
		}
	}
	return nil
}
