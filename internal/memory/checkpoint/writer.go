package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// journalName is the file that lists, while a checkpoint is saved, the cache
// entries made for it, one in a line after the cache's folder. If the save is
// killed, the next one removes those that no manifest came to name. It is
// synced with the bytes, before the first of them is an entry.
const journalName = "checkpoint.saving"

// A Writer puts tensors' bytes into the cache for a checkpoint, many with the
// syncs of one.
type Writer struct {
	dir   string
	cache *blob.Cache
	fsys  durable.FS
	batch *blob.Batch   // nil: nothing is waiting to be committed
	log   durable.File  // the journal; nil before the first put
	bytes int           // in the batch
	named map[Blob]bool // by checkpoints; nil until it is needed
}

// batchBytes is the size from which a batch is committed, so that a save that is
// killed has not written everything in vain.
const batchBytes = 1 << 30

// NewWriter returns a writer for the checkpoint in a directory. Nothing is made
// before the first put.
func NewWriter(dir string, c *blob.Cache, fsys durable.FS) *Writer {
	return &Writer{dir: dir, cache: c, fsys: durable.Default(fsys)}
}

// Fits returns an error if the disk has no room for so many bytes of entries.
func (w *Writer) Fits(bytes int64) error { return durable.Fits(w.fsys, w.cache.Root(), bytes) }

// Put writes the bytes of a tensor. They are an entry of the cache after the
// next Commit.
func (w *Writer) Put(id string, b Blob, data []byte, o blob.Options) error {
	err := w.Fits(int64(len(data)))
	if err == nil {
		err = w.begin()
	}
	if err == nil && !w.cache.Exists(b.Kind, b.Key) {
		_, err = fmt.Fprintf(w.log, "%s %s\n", b.Kind.Folder(), strconv.Quote(b.Key))
	}
	if err == nil {
		err = w.batch.Put(b.Kind, b.Key, data, o)
	}
	if err != nil {
		return &Error{Kind: ErrIO, ID: id, Why: "its bytes cannot be written to the cache", Err: err}
	}
	if w.bytes += len(data); w.bytes >= batchBytes {
		return w.Commit()
	}
	return nil
}

// keep makes bytes of a tensor an entry of the cache, b or one beside it, and
// returns which, and whether it had to be written: bytes that the cache has
// already are not. Other bytes in b are [blob.ErrExists], unless o.Overwrite
// says that they may go. What a checkpoint names, the one that is replaced among
// them, stays in any case: the new bytes go beside it then.
func (w *Writer) keep(id string, b Blob, data []byte, o blob.Options) (at Blob, written bool, err error) {
	hash := blob.HashOf(data)
	if storedHash(w.cache, b) == hash {
		return b, false, nil
	}
	beside := b.Of(hash)
	if storedHash(w.cache, beside) == hash {
		return beside, false, nil
	}
	if !o.Overwrite && storedHash(w.cache, b) != (blob.Hash{}) {
		err := &blob.CacheError{Reason: blob.ErrExists, Kind: b.Kind, Key: b.Key}
		return b, false, &Error{Kind: ErrOther, Path: w.cache.Root(), ID: id, Why: "the cache has other bytes of it", Err: err}
	}
	named, err := w.needed()
	if err != nil {
		return b, false, err
	}
	if named[b] {
		b = beside
	}
	o.Overwrite = true // what is there now is damaged, or may go
	return b, true, w.Put(id, b, data, o)
}

// needed returns the entries that a checkpoint needs which the writer knows of.
func (w *Writer) needed() (map[Blob]bool, error) {
	if w.named != nil {
		return w.named, nil
	}
	named, err := nearby(w.cache, w.fsys, w.dir)
	if err != nil {
		return nil, err
	}
	own, err := namedBlobs(w.dir, w.fsys)
	if err != nil {
		return nil, err
	}
	maps.Copy(named, own)
	w.named = named
	return named, nil
}

// begin begins a batch and, before the first one, the journal.
func (w *Writer) begin() (err error) {
	if w.log == nil {
		if err := w.fsys.MkdirAll(w.dir, 0o777); err != nil {
			return err
		}
		if w.log, err = w.fsys.OpenFile(filepath.Join(w.dir, journalName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666); err != nil {
			w.log = nil
			return err
		}
		if _, err = fmt.Fprintf(w.log, "cache %s\n", strconv.Quote(w.root())); err != nil {
			return err
		}
	}
	if w.batch == nil {
		if w.batch, err = w.cache.Begin(); err == nil {
			w.batch.SyncWith(filepath.Join(w.dir, journalName))
		}
	}
	return err
}

// root names the cache, independently of the current directory.
func (w *Writer) root() string {
	if abs, err := filepath.Abs(w.cache.Root()); err == nil {
		return abs
	}
	return w.cache.Root()
}

// Commit makes entries of what was put, durably.
func (w *Writer) Commit() error {
	if w.batch == nil {
		return nil
	}
	err := w.batch.Commit()
	w.batch, w.bytes = nil, 0
	if err != nil {
		return &Error{Kind: ErrIO, Path: w.cache.Root(), Why: "the bytes cannot be written to the cache", Err: err}
	}
	return nil
}

// Abort gives up what has not been committed. It may be called more than once.
func (w *Writer) Abort() {
	if w.batch != nil {
		w.batch.Abort()
		w.batch = nil
	}
	if w.log != nil {
		_ = w.log.Close() // what was written counts; there is nothing to report
		w.log = nil
	}
}

// Forget ends a save: a manifest names the entries now. A journal that cannot be
// removed is read, and found to list nothing that is not named, by the next one.
func (w *Writer) Forget() {
	w.Abort()
	_ = w.fsys.Remove(filepath.Join(w.dir, journalName))
}

// Clean removes what killed saves left in a checkpoint's directory and in the
// cache: temporary files, halves of entries, and entries that no manifest came
// to name. The caller has the directory's lock.
func Clean(dir string, c *blob.Cache, fsys durable.FS) (removed []string, err error) {
	fsys = durable.Default(fsys)
	files, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Kind: ErrIO, Path: dir, Why: "leftovers cannot be looked for", Err: err}
	}
	w := NewWriter(dir, c, fsys)
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		switch {
		case f.Name() == journalName:
			var some []string
			some, err = w.undo()
			removed = append(removed, some...)
			if err != nil {
				return removed, err
			}
		case durable.IsTemp(f.Name()) && strings.HasPrefix(f.Name(), ".checkpoint."):
			removed = append(removed, path)
		default:
			continue
		}
		if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, &Error{Kind: ErrIO, Path: path, Why: "a leftover cannot be removed", Err: err}
		}
	}
	some, err := c.Clean()
	if err != nil {
		err = &Error{Kind: ErrIO, Path: c.Root(), Why: "leftovers cannot be removed", Err: err}
	}
	return append(removed, some...), err
}

// undo removes the entries that a journal lists and no manifest names.
func (w *Writer) undo() (removed []string, err error) {
	if _, err := Read(w.dir, w.fsys); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // nothing is removed that it may name
	}
	path := filepath.Join(w.dir, journalName)
	text, err := w.fsys.ReadFile(path)
	if err != nil {
		return nil, &Error{Kind: ErrIO, Path: path, Why: "the journal cannot be read", Err: err}
	}
	named, err := w.needed()
	if err != nil {
		return nil, err
	}
	ours := false
	for line := range strings.Lines(string(text)) {
		kind, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		key, err := strconv.Unquote(quoted)
		if err != nil {
			continue // a line that was cut
		}
		if kind == "cache" {
			ours = key == w.root()
			continue
		}
		k, ok := blob.ParseKind(kind)
		if b := (Blob{k, key}); !ok || !ours || named[b] || !w.cache.Exists(k, key) {
			continue
		}
		if err := w.cache.Delete(k, key); err != nil {
			return removed, &Error{Kind: ErrIO, Path: w.cache.Root(), Why: "a leftover cannot be removed", Err: err}
		}
		removed = append(removed, key)
	}
	return removed, nil
}

// Lock waits for the right to change the checkpoint in a directory, which it
// creates, as long as patience lasts. Then the error is [ErrBusy].
func Lock(ctx context.Context, dir string, patience time.Duration) (release func() error, err error) {
	const pause = 20 * time.Millisecond
	path := filepath.Join(dir, ".lock")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, &Error{Kind: ErrIO, Path: dir, Why: "the folder cannot be made", Err: err}
	}
	for until := time.Now().Add(patience); ; {
		release, err := durable.TryLock(path)
		switch {
		case err == nil:
			return release, nil
		case !errors.Is(err, durable.ErrLocked):
			return nil, &Error{Kind: ErrIO, Path: path, Why: "the folder cannot be locked", Err: err}
		case time.Now().After(until):
			return nil, &Error{Kind: ErrBusy, Path: dir, Why: fmt.Sprintf("another process has used this checkpoint for more than %v: wait until it ends, or name another folder", patience)}
		}
		select {
		case <-ctx.Done():
			return nil, &Error{Kind: ErrBusy, Path: dir, Why: "cancelled while another process uses it", Err: context.Cause(ctx)}
		case <-time.After(pause):
		}
	}
}
