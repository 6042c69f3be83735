package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// SaveOptions configure [Save].
type SaveOptions struct {
	// Materialize writes the bytes that the persistent cache lacks or has in an
	// older version, before the manifest. Without it only the manifest is written.
	Materialize bool
	// Copy, with Materialize, also writes the bytes that are mapped from a model's
	// file. Without it the checkpoint refers to the file.
	Copy bool
	// Overwrite, with Copy, replaces other bytes that the cache has of a tensor and
	// that no checkpoint names. Without it they are [blob.ErrExists].
	Overwrite bool
	// Writer has written entries for this save already; nil: none were. With it the
	// folder of the checkpoint and the file system are its own.
	Writer *Writer
	Model  *Model     // of which the tensors are; nil: unknown
	FS     durable.FS // nil: the operating system's
}

// A Saved is the result of a save.
type Saved struct {
	Manifest *Manifest
	// NotDurable lists the tensors whose bytes a restore will not find.
	NotDurable []NotDurable
	// Written counts the cache entries that Materialize wrote.
	Written int
}

// A NotDurable is a tensor whose bytes are in no durable place, and why.
type NotDurable struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Save writes the manifest of all tensors of a manager to a directory, which it
// creates. Saving the same state twice writes the same bytes. The old checkpoint
// stays intact until the new one is complete: cache entries it refers to are not
// overwritten; new bytes go to entries beside them. created is in seconds since
// 1970.
func Save(ctx context.Context, dir string, m *memory.Manager, created uint64, o SaveOptions) (*Saved, error) {
	if _, err := namedBlobs(dir, o.FS); err != nil { // what it refers to must not be overwritten
		return nil, err
	}
	s := &saving{Saved: Saved{Manifest: &Manifest{Created: created, Model: o.Model}}, m: m, o: o}
	if o.Materialize && m.Cache() != nil {
		if s.w = o.Writer; s.w == nil {
			s.w = NewWriter(dir, m.Cache(), o.FS)
			defer s.w.Abort()
		}
	}
	for _, id := range m.IDs() {
		if err := ctx.Err(); err != nil {
			return nil, &Error{Kind: ErrIO, Why: "cancelled", Err: err}
		}
		if err := s.add(ctx, id); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.Manifest.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(btoi(a.IsGrad), btoi(b.IsGrad)), cmp.Compare(a.ID, b.ID))
	})
	if s.w != nil {
		if err := s.w.Commit(); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(s.Manifest.Entries, func(e Entry) bool { return e.Blob != nil }) {
		if err := register(dir, m.Cache(), o.FS); err != nil {
			return nil, err
		}
	}
	if err := write(dir, s.Manifest, o.FS); err != nil {
		return nil, err
	}
	if s.w != nil {
		s.w.Forget()
	}
	return &s.Saved, nil
}

// A saving is a save in progress.
type saving struct {
	Saved
	m *memory.Manager
	w *Writer // nil: no bytes are written
	o SaveOptions
}

// namedBlobs returns the cache entries that the checkpoint in a folder refers to: none
// if there is none, or if it is damaged, so that it can be saved over.
func namedBlobs(dir string, fsys durable.FS) (map[Blob]bool, error) {
	named := map[Blob]bool{}
	old, err := Read(dir, fsys)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrInvalidFormat) {
		return named, nil
	}
	if err != nil { // what it refers to must not be overwritten
		return nil, err
	}
	for i := range old.Entries {
		if b := old.Entries[i].Blob; b != nil {
			named[*b] = true
		}
	}
	return named, nil
}

// write atomically replaces the manifest in a checkpoint's directory, and the
// files beside it, with one sync of their contents and two of the folder.
func write(dir string, m *Manifest, fsys durable.FS) error {
	text, err := m.MarshalText()
	if err != nil {
		return err
	}
	fsys = durable.Default(fsys)
	hash := blob.HashOf(text)
	files := []beside{{sumsName(hash), m.sumsText(hash)}, {modelName(hash), m.modelText(hash)}, {Name, text}}
	if err = fsys.MkdirAll(dir, 0o777); err == nil {
		err = writeAll(fsys, dir, slices.DeleteFunc(files, func(f beside) bool { return f.text == nil }))
	}
	if err != nil {
		return &Error{Kind: ErrIO, Path: filepath.Join(dir, Name), Why: "the manifest cannot be written", Err: err}
	}
	removeOthers(fsys, dir, hash)
	return nil
}

// A beside is a file of a checkpoint's directory.
type beside struct {
	name string
	text []byte
}

// writeAll replaces files of a directory; the last one refers to the others, and
// its name becomes durable after theirs.
func writeAll(fsys durable.FS, dir string, files []beside) (err error) {
	var temps []string
	defer func() {
		if err != nil {
			for _, t := range temps {
				_ = fsys.Remove(t) // a no-op once renamed
			}
		}
	}()
	for _, f := range files {
		temp, err := durable.WriteUnsynced(fsys, filepath.Join(dir, f.name), func(w io.Writer) error {
			_, err := w.Write(f.text)
			return err
		})
		if err != nil {
			return err
		}
		temps = append(temps, temp)
	}
	if err := fsys.SyncFiles(temps); err != nil {
		return err
	}
	for i, f := range files {
		if last := len(files) - 1; i == last && last > 0 {
			if err := fsys.SyncDir(dir); err != nil {
				return err
			}
		}
		if err := fsys.Rename(temps[i], filepath.Join(dir, f.name)); err != nil {
			return err
		}
	}
	return fsys.SyncDir(dir)
}

// Remove removes the checkpoint in a directory, if there is one: its manifest and the
// files beside it, not the bytes in the cache.
func Remove(dir string, fsys durable.FS) error {
	fsys = durable.Default(fsys)
	path := filepath.Join(dir, Name)
	err := fsys.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Kind: ErrIO, Path: path, Why: "the manifest cannot be removed", Err: err}
	}
	removeOthers(fsys, dir, blob.Hash{})
	return nil
}

// removeOthers removes the files of manifests that no longer exist, best effort:
// a remaining one is harmless.
func removeOthers(fsys durable.FS, dir string, keep blob.Hash) {
	files, err := fsys.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		name := f.Name()
		ours := strings.HasPrefix(name, "checkpoint.") && (strings.HasSuffix(name, ".sums") || strings.HasSuffix(name, ".model"))
		if ours && name != sumsName(keep) && name != modelName(keep) {
			_ = fsys.Remove(filepath.Join(dir, name))
		}
	}
}

// add adds the entry of a tensor and, with Materialize, writes its bytes to the
// cache.
func (s *saving) add(ctx context.Context, id string) error {
	r, ok := s.m.Residence(id)
	if !ok {
		return nil // removed since it was listed
	}
	e := Entry{ID: id, Tier: r.Tier, Bytes: r.Bytes}
	e.Hint, _ = s.m.Hint(id)
	_, e.IsGrad = s.m.GradientKey(id)
	why, err := s.durable(ctx, &e, r)
	if err != nil {
		return err
	}
	if why != "" && e.Source == nil && (r.Tier != memory.CPU || r.Backing != memory.BackingNone) {
		s.NotDurable = append(s.NotDurable, NotDurable{id, why})
	}
	s.Manifest.Entries = append(s.Manifest.Entries, e)
	return nil
}

// DefaultBlob returns the cache entry that holds the bytes of a tensor or a
// gradient by default.
func (e *Entry) DefaultBlob() Blob {
	if e.IsGrad {
		return Blob{blob.Gradient, fmt.Sprintf("grad:%s:len%d", e.ID, e.Bytes)}
	}
	return Blob{blob.Tensor, fmt.Sprintf("tensor:%s:len%d", e.ID, e.Bytes)}
}

// Of returns the alternative entry for a tensor's bytes if the default one holds
// other bytes that are still needed.
func (b Blob) Of(h blob.Hash) Blob { return Blob{b.Kind, b.Key + ":x" + h.String()[:16]} }

// durable finds the cache entry with a tensor's bytes, or writes one, or returns
// why there is none.
func (s *saving) durable(ctx context.Context, e *Entry, r memory.Residence) (why string, err error) {
	c := s.m.Cache()
	b := e.DefaultBlob()
	if src, ok := s.m.LazyFile(e.ID); ok {
		if s.w != nil && s.o.Copy && src.View != nil {
			return "", s.keep(e, b, src.View, blob.Options{Overwrite: s.o.Overwrite})
		}
		e.Source = &src
		return "", nil
	}
	if c == nil {
		return "there is no persistent cache", nil
	}
	if kind, key, ok := s.m.LazySource(e.ID); ok {
		b = Blob{kind, key}
	}
	if r.Backing == memory.BackingNone { // no bytes to compare or write
		if !c.Exists(b.Kind, b.Key) {
			return "the cache has no bytes of it", nil
		}
		e.Blob, e.Hash = &b, storedHash(c, b)
		return "", nil
	}
	l := liveBytes{ctx: ctx, m: s.m, id: e.ID, want: r.Bytes}
	defer l.release()
	if e.Hash = r.Hash; e.Hash == (blob.Hash{}) && l.read() {
		e.Hash = blob.HashOf(l.lease.Bytes)
	}
	why = "the cache has no bytes of it"
	for _, b := range []Blob{b, b.Of(e.Hash)} {
		if !c.Exists(b.Kind, b.Key) {
			continue
		}
		if e.Hash == (blob.Hash{}) || storedHash(c, b) == e.Hash {
			e.Blob = &b
			return "", nil
		}
		why = "the cache has an older version of it"
	}
	if s.w == nil || !l.read() {
		e.Hash = blob.Hash{}
		return why, nil
	}
	return "", s.keep(e, b, l.lease.Bytes, blob.Options{Overwrite: true, Version: r.Version})
}

// keep makes the bytes of an entry those of the cache.
func (s *saving) keep(e *Entry, b Blob, data []byte, o blob.Options) error {
	o.Created = s.Manifest.Created
	b, written, err := s.w.keep(e.ID, b, data, o)
	if err != nil {
		return err
	}
	if written {
		s.Written++
	}
	e.Blob, e.Hash = &b, blob.HashOf(data)
	return nil
}

// storedHash returns the hash of an entry's bytes. It reads them only if no
// sidecar has it, and returns zero if they cannot be read.
func storedHash(c *blob.Cache, b Blob) blob.Hash {
	if info, err := c.Stat(b.Kind, b.Key); err == nil && info.Hash != (blob.Hash{}) {
		return info.Hash
	}
	data, err := c.Get(b.Kind, b.Key)
	if err != nil {
		return blob.Hash{}
	}
	return blob.HashOf(data)
}

// liveBytes leases the bytes of a tensor on first use.
type liveBytes struct {
	ctx   context.Context // of the enclosing call
	m     *memory.Manager
	id    string
	want  uint64
	lease memory.Lease
	tried bool
}

// read reports whether the bytes could be leased.
func (l *liveBytes) read() bool {
	if !l.tried {
		l.tried = true
		var err error
		if l.lease, err = l.m.Lease(l.ctx, l.id); err == nil && uint64(len(l.lease.Bytes)) != l.want {
			err = memory.ErrStale // replaced since it was listed
		}
		if err != nil {
			l.lease.Release()
		}
	}
	return l.lease.Bytes != nil
}

func (l *liveBytes) release() { l.lease.Release() }
