package sequence

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"atenia/internal/store/durable"
)

// An ID is where a file of a folder is found: a state's pages that end with the first
// End tokens, whose hash is Hash.
type ID struct {
	State, End int
	Hash       uint64
}

// An Item is a file to be put into a folder.
type Item struct {
	ID
	Header
	Pages [][]byte
}

// A Folder keeps files of one key within a limit that it shares with those of others.
// It is safe for concurrent use.
type Folder struct {
	fsys   durable.FS
	dir    string
	key    Key
	limit  int64
	unlock func() error

	mu    sync.Mutex
	files map[string]*file
	mine  map[ID]*file // of the folder's key
	bytes int64
	puts  int // since the folder was listed
	stats Stats
}

// A file is one of the folder.
type file struct {
	name  string
	id    ID
	mine  bool
	bytes int64
	used  time.Time
}

// Stats count what a folder did since it was opened.
type Stats struct {
	Files, Bytes    int64 // in the folder, of all keys
	Read, Written   int64 // bytes
	Damaged, Foul   int64 // files that were dropped since they were damaged; writes that failed
	Removed, Passed int64 // files removed for others; items that are larger than the limit
}

// listEvery is after how many puts a folder is listed again: other processes add to it.
const listEvery = 64

// suffix ends the names of files.
const suffix = ".kv"

// OpenFolder opens a folder, and makes it if there is none. What killed processes left
// half written is removed, unless others use the folder now. fsys nil is the operating
// system's.
func OpenFolder(fsys durable.FS, dir string, limit int64, key Key) (*Folder, error) {
	f := &Folder{fsys: durable.Default(fsys), dir: dir, limit: limit, key: key}
	if err := f.fsys.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := filepath.Join(dir, ".lock")
	if release, err := durable.TryLock(lock); err == nil {
		err = errors.Join(f.clean(), release())
		if err != nil {
			return nil, err
		}
	} else if !errors.Is(err, durable.ErrLocked) {
		return nil, err
	}
	var err error
	if f.unlock, err = durable.LockShared(lock); err != nil {
		return nil, err
	}
	if err := f.list(); err != nil {
		return nil, errors.Join(err, f.unlock())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.makeRoom(0, nil) // the limit may be another
	return f, nil
}

// Key returns the key of the files that are read and written.
func (f *Folder) Key() Key { return f.key }

// Close ends the use of the folder.
func (f *Folder) Close() error { return f.unlock() }

// clean removes temporary files. No other process uses the folder.
func (f *Folder) clean() error {
	entries, err := f.fsys.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if durable.IsTemp(e.Name()) {
			if err := f.fsys.Remove(filepath.Join(f.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (f *Folder) name(id ID) string {
	return fmt.Sprintf("%x-%d-%d-%016x%s", f.key[:], id.State, id.End, id.Hash, suffix)
}

// parse returns the ID that a name says; ok = it is one of this package.
func (f *Folder) parse(name string) (id ID, mine, ok bool) {
	var key []byte
	if n, err := fmt.Sscanf(name, "%32x-%d-%d-%16x"+suffix, &key, &id.State, &id.End, &id.Hash); n != 4 || err != nil || len(key) != len(f.key) {
		return ID{}, false, false
	}
	return id, Key(key) == f.key, true
}

// list reads which files there are. Files of other programs are neither counted nor
// touched.
func (f *Folder) list() error {
	entries, err := f.fsys.ReadDir(f.dir)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files, f.mine, f.bytes, f.puts = map[string]*file{}, map[ID]*file{}, 0, 0
	for _, e := range entries {
		id, mine, ok := f.parse(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		st, err := e.Info()
		if err != nil { // removed meanwhile
			continue
		}
		f.add(&file{e.Name(), id, mine, st.Size(), st.ModTime()})
	}
	return nil
}

func (f *Folder) add(x *file) {
	if old := f.files[x.name]; old != nil {
		f.bytes -= old.bytes
	}
	f.files[x.name] = x
	f.bytes += x.bytes
	if x.mine {
		f.mine[x.id] = x
	}
}

func (f *Folder) forget(x *file) {
	if f.files[x.name] == nil {
		return
	}
	delete(f.files, x.name)
	f.bytes -= x.bytes
	if x.mine {
		delete(f.mine, x.id)
	}
}

// View calls see with a function that says whether there is a file, and how many bytes
// it has. The folder does not change meanwhile.
func (f *Folder) View(see func(has func(ID) (bytes int64, ok bool))) {
	f.mu.Lock()
	defer f.mu.Unlock()
	see(func(id ID) (int64, bool) {
		x := f.mine[id]
		if x == nil {
			return 0, false
		}
		return x.bytes, true
	})
}

// Stats returns the counts.
func (f *Folder) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Files, s.Bytes = int64(len(f.files)), f.bytes
	return s
}

// Use says that files are used now, so that others are removed before them.
func (f *Folder) Use(ids []ID) {
	now := time.Now()
	var names []string
	f.mu.Lock()
	for _, id := range ids {
		if x := f.mine[id]; x != nil {
			x.used = now
			names = append(names, x.name)
		}
	}
	f.mu.Unlock()
	for _, name := range names {
		_ = f.fsys.Touch(filepath.Join(f.dir, name), now) // only the order of removal depends on it
	}
}

// makeRoom removes files until there are n bytes left of the limit, and reports whether
// there are. Of those that were used at the same time, the ends of sequences go first: a
// beginning serves more prompts.
func (f *Folder) makeRoom(n int64, but map[string]bool) bool {
	if f.bytes+n <= f.limit {
		return true
	}
	var all []*file
	for _, x := range f.files {
		if !but[x.name] {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *file) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(b.id.End, a.id.End), cmp.Compare(a.name, b.name))
	})
	for _, x := range all {
		if f.bytes+n <= f.limit {
			break
		}
		if err := f.fsys.Remove(filepath.Join(f.dir, x.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f.forget(x)
		f.stats.Removed++
	}
	return f.bytes+n <= f.limit
}

// batch is how many files are synced at once.
const batch = 32

// Put writes items that are not there yet and says that all of them are used now. It
// stops between two files when stop says so. Files that could not be written are not
// there.
func (f *Folder) Put(items []Item, stop func() bool) error {
	var ids []ID
	f.mu.Lock()
	old, now := f.puts >= listEvery, time.Now()
	for _, it := range items {
		ids = append(ids, it.ID)
		if x := f.mine[it.ID]; x != nil {
			x.used = now
		}
	}
	f.mu.Unlock()
	defer func() { f.Use(ids) }() // all at one time: none of a sequence's files is older than another
	if old {
		if err := f.list(); err != nil {
			return err
		}
	}
	but := map[string]bool{}
	for len(items) > 0 {
		n := min(batch, len(items))
		if err := f.put(items[:n], but, stop); err != nil {
			f.mu.Lock()
			f.stats.Foul++
			f.mu.Unlock()
			return err
		}
		items = items[n:]
	}
	return nil
}

// put writes a batch: contents, one sync, names, one sync.
func (f *Folder) put(items []Item, but map[string]bool, stop func() bool) (err error) {
	type written struct {
		temp string
		file *file
	}
	var done []written
	defer func() {
		for _, w := range done { // what has no name is nothing
			if w.temp != "" {
				err = errors.Join(err, f.fsys.Remove(w.temp))
			}
		}
	}()
	var sync []string
	var room int64
	for i := range items {
		it := &items[i]
		x := &file{name: f.name(it.ID), id: it.ID, mine: true, bytes: it.Bytes()}
		if stop() {
			break
		}
		f.mu.Lock()
		f.puts++
		skip := f.mine[it.ID] != nil
		if !skip && !f.makeRoom(room+x.bytes, but) {
			f.stats.Passed++
			skip = true
		}
		f.mu.Unlock()
		if but[x.name] = true; skip {
			continue
		}
		temp, err := durable.WriteUnsyncedAt(f.fsys, filepath.Join(f.dir, x.name), fileMode, func(w durable.File) error { return it.writeTo(w, it.Pages) })
		if err != nil {
			return err
		}
		done, sync, room = append(done, written{temp, x}), append(sync, temp), room+x.bytes
	}
	if len(done) == 0 {
		return nil
	}
	if err := f.fsys.SyncFiles(sync); err != nil {
		return err
	}
	for i := range done {
		w := &done[i]
		if err := f.fsys.Rename(w.temp, filepath.Join(f.dir, w.file.name)); err != nil {
			return err
		}
		w.temp, w.file.used = "", time.Now()
		f.mu.Lock()
		f.add(w.file)
		f.stats.Written += w.file.bytes
		f.mu.Unlock()
	}
	return f.fsys.SyncDir(f.dir)
}

// Read opens a file, checks that it is of the folder's key and of these tokens, and
// calls read with it. A file that is damaged, or not what its name says, is removed. One
// that another process removed is [fs.ErrNotExist].
func (f *Folder) Read(id ID, tokens []int32, read func(*Reader) error) error {
	f.mu.Lock()
	x := f.mine[id]
	f.mu.Unlock()
	if x == nil {
		return fs.ErrNotExist
	}
	path := filepath.Join(f.dir, x.name)
	bytes, err := f.read(path, id, tokens, read)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e, bad := errors.AsType[*Error](err); {
	case bad:
		f.stats.Damaged++
		f.forget(x)
		err = errors.Join(e, f.fsys.Remove(path))
	case errors.Is(err, fs.ErrNotExist):
		f.forget(x)
	case err == nil:
		f.stats.Read += bytes
	}
	return err
}

// errCollision says that other tokens have the same hash: the file is good, for them.
var errCollision = errors.New("keys and values of other tokens with the same hash")

func (f *Folder) read(path string, id ID, tokens []int32, read func(*Reader) error) (bytes int64, err error) {
	o, err := f.fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	st, err := o.Stat()
	if err != nil {
		return 0, err
	}
	r, err := NewReader(o, st.Size(), path)
	if err != nil {
		return 0, whole(err, path, st.Size())
	}
	if err := r.Of(f.key); err != nil {
		return 0, err
	}
	if len(r.Tokens) != id.End || len(r.Runs) != 1 || r.Runs[0].State != id.State || r.Runs[0].At != id.End {
		return 0, &Error{Kind: ErrDamaged, Path: path, Offset: 32, Why: "it is not what its name says"}
	}
	if !slices.Equal(r.Tokens, tokens) {
		return 0, errCollision
	}
	return st.Size(), whole(read(r), path, st.Size())
}

// whole makes an end of the file inside of it a damage: it was cut while it was read.
func whole(err error, path string, size int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Kind: ErrDamaged, Path: path, Offset: size, Why: "it was cut"}
	}
	return err
}
