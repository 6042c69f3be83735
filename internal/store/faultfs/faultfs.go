package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"atenia/internal/store/durable"
)

// ErrInjected is the error of [Fail], [Torn] and [Stop].
var ErrInjected = errors.New("injected fault")

// A Fault is the kind of failure to inject.
type Fault uint8

const (
	// Fail makes one call fail without effect. Later ones succeed.
	Fail Fault = iota
	// Stop makes a call and all later ones fail, as if the process had been killed.
	Stop
	// Torn makes one call fail; a write first writes half of its bytes. Later ones
	// succeed.
	Torn
	// Full makes a call and all later ones that write or create fail with ENOSPC; a
	// write first writes half of its bytes.
	Full
)

// An FS counts calls, including those of its files, and fails at one of them.
type FS struct {
	under durable.FS

	mu    sync.Mutex
	calls int
	syncs int
	at    int // the call that fails, from 1; 0 = none
	fault Fault
	told  io.Writer        // gets a line before each call; nil = nobody
	flips map[string]int64 // name → bit that reads see flipped
	dirty map[string]*unsynced
}

// unsynced is a file with bytes that a power failure would lose.
type unsynced struct{ size int64 } // bytes on disk

// New returns an FS that fails at the n-th call; with n = 0 it never does.
func New(n int, fault Fault) *FS {
	return &FS{under: durable.Default(nil), at: n, fault: fault, flips: map[string]int64{}, dirty: map[string]*unsynced{}}
}

// Each yields n and an FS that fails at the n-th call, for n = 1, 2, … It ends
// after the first one whose fault was not reached.
func Each(fault Fault) iter.Seq2[int, *FS] {
	return func(yield func(int, *FS) bool) {
		for n := 1; ; n++ {
			f := New(n, fault)
			if !yield(n, f) || !f.Hit() {
				return
			}
		}
	}
}

// Tell writes a line to w before each call: its number, operation and file. A
// process that is to be killed at its work says so by them.
func (f *FS) Tell(w io.Writer) *FS {
	f.told = w
	return f
}

// Calls returns the number of calls so far.
func (f *FS) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Hit reports whether the fault occurred.
func (f *FS) Hit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at > 0 && f.calls >= f.at
}

// FlipBit makes reads of a file see one bit flipped.
func (f *FS) FlipBit(name string, bit int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flips[filepath.Clean(name)] = bit
}

// PowerCut tears every file with unsynced writes: it drops half of the bytes not
// on disk. Names stay: whether they are durable before the directory is synced
// is unspecified, and callers must handle both.
func (f *FS) PowerCut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, u := range f.dirty {
		if st, err := os.Stat(name); err == nil {
			_ = os.Truncate(name, min(st.Size(), u.size+(st.Size()-u.size)/2))
		}
	}
	clear(f.dirty)
}

// call counts a call and returns the error with which it must fail. Only calls
// that create or write fail on a full disk.
func (f *FS) call(op, name string, grows bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.told != nil {
		fmt.Fprintf(f.told, "call %d %s %s\n", f.calls, op, filepath.Base(name))
	}
	err := ErrInjected
	switch {
	case f.at == 0 || f.calls < f.at:
		return nil
	case f.fault == Full && !grows:
		return nil
	case f.fault == Full:
		err = syscall.ENOSPC
	case f.fault != Stop && f.calls > f.at:
		return nil
	}
	return fmt.Errorf("%s %s (call %d): %w", op, name, f.calls, err)
}

// tears reports whether a failing write writes its first half.
func (f *FS) tears() bool { return f.fault == Torn || f.fault == Full }

// OpenFile opens a file.
func (f *FS) OpenFile(name string, flag int, mode fs.FileMode) (durable.File, error) {
	if err := f.call("open", name, flag&os.O_CREATE != 0); err != nil {
		return nil, err
	}
	under, err := f.under.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	if flag&os.O_TRUNC != 0 {
		f.wrote(name, 0)
	}
	return &file{under, f}, nil
}

// ReadFile reads a file.
func (f *FS) ReadFile(name string) ([]byte, error) {
	if err := f.call("read", name, false); err != nil {
		return nil, err
	}
	b, err := f.under.ReadFile(name)
	f.flip(name, 0, b)
	return b, err
}

// ReadDir lists a directory.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.call("list", name, false); err != nil {
		return nil, err
	}
	return f.under.ReadDir(name)
}

// Stat describes a file.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if err := f.call("stat", name, false); err != nil {
		return nil, err
	}
	return f.under.Stat(name)
}

// Rename renames a file.
func (f *FS) Rename(from, to string) error {
	if err := f.call("rename", from, false); err != nil {
		return err
	}
	err := f.under.Rename(from, to)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.moved(from, to)
		delete(f.dirty, filepath.Clean(from))
	}
	return err
}

// Link adds a hard link.
func (f *FS) Link(from, to string) error {
	if err := f.call("link", to, true); err != nil {
		return err
	}
	err := f.under.Link(from, to)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.moved(from, to)
	}
	return err
}

// moved records that the name to now refers to the file from.
func (f *FS) moved(from, to string) {
	delete(f.dirty, filepath.Clean(to))
	if u := f.dirty[filepath.Clean(from)]; u != nil {
		f.dirty[filepath.Clean(to)] = u
	}
}

// Remove removes a file.
func (f *FS) Remove(name string) error {
	if err := f.call("remove", name, false); err != nil {
		return err
	}
	f.mu.Lock()
	delete(f.dirty, filepath.Clean(name))
	f.mu.Unlock()
	return f.under.Remove(name)
}

// MkdirAll creates a directory and its parents.
func (f *FS) MkdirAll(name string, mode fs.FileMode) error {
	if err := f.call("mkdir", name, true); err != nil {
		return err
	}
	return f.under.MkdirAll(name, mode)
}

// Touch sets the modification time of a file.
func (f *FS) Touch(name string, t time.Time) error {
	if err := f.call("touch", name, false); err != nil {
		return err
	}
	return f.under.Touch(name, t)
}

// SyncDir is only simulated.
func (f *FS) SyncDir(name string) error {
	f.synced()
	return f.call("sync folder", name, false)
}

// SyncFiles is only simulated.
func (f *FS) SyncFiles(names []string) error {
	f.synced()
	if err := f.call("sync files", strings.Join(names, " "), false); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		delete(f.dirty, filepath.Clean(name))
	}
	return nil
}

// Syncs returns how often a file, a folder or several files at once were synced
// so far.
func (f *FS) Syncs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.syncs
}

func (f *FS) synced() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
}

// wrote records that all but the first from bytes of a file may be lost.
func (f *FS) wrote(name string, from int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = filepath.Clean(name)
	if u := f.dirty[name]; u == nil {
		f.dirty[name] = &unsynced{from}
	} else {
		u.size = min(u.size, from)
	}
}

// flip applies the flipped bit to b, which was read at an offset.
func (f *FS) flip(name string, off int64, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bit, ok := f.flips[filepath.Clean(name)]; ok {
		if i := bit/8 - off; i >= 0 && i < int64(len(b)) {
			b[i] ^= 1 << (bit % 8)
		}
	}
}
