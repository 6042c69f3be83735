package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"atenia/internal/durable"
)

// ErrInjected is the fault of [Fail], [Torn] and [Stop].
var ErrInjected = errors.New("injected fault")

// A Fault is what happens at a call.
type Fault uint8

const (
	// Fail makes one call fail and do nothing. Later ones work.
	Fail Fault = iota
	// Stop makes a call and all later ones fail, as if the process was killed.
	Stop
	// Torn makes one call fail; a write writes the first half before. Later
	// ones work.
	Torn
	// Full makes a call and all later ones that write or create fail with
	// ENOSPC; a write writes the first half before.
	Full
)

// An FS counts calls, those of its files too, and fails at one of them.
type FS struct {
	under durable.FS

	mu    sync.Mutex
	calls int
	at    int // the call that fails, from 1; 0 = none
	fault Fault
	flips map[string]int64 // name → the bit that reads find flipped
	dirty map[string]*unsynced
}

// unsynced is a file with bytes that a power cut would lose.
type unsynced struct{ size int64 } // bytes that are on the disk

// New returns an FS that fails at the n-th call; with n = 0 it never does.
func New(n int, fault Fault) *FS {
	return &FS{under: durable.Default(nil), at: n, fault: fault, flips: map[string]int64{}, dirty: map[string]*unsynced{}}
}

// Each yields n and an FS that fails at the n-th call, for n = 1, 2, … The
// last one is the first whose fault was not reached.
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

// Calls returns how many calls were made.
func (f *FS) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Hit reports whether the fault happened.
func (f *FS) Hit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at > 0 && f.calls >= f.at
}

// FlipBit makes reads of a file find one bit flipped.
func (f *FS) FlipBit(name string, bit int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flips[filepath.Clean(name)] = bit
}

// PowerCut tears every file that was written and not synced: half of the bytes
// that are not on the disk are lost. Names stay: whether a disk has them
// before the folder is synced is not known, and both must do.
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

// call counts one and returns the error that it must fail with. Only calls
// that make or write files fail on a full disk.
func (f *FS) call(op, name string, grows bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
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

// tears reports whether a write that fails writes its first half.
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

// ReadDir lists a folder.
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

// Link gives a file a second name.
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

// moved says that a name now means the file of another.
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

// MkdirAll makes a folder and those above it.
func (f *FS) MkdirAll(name string, mode fs.FileMode) error {
	if err := f.call("mkdir", name, true); err != nil {
		return err
	}
	return f.under.MkdirAll(name, mode)
}

// Touch sets the time of a file's last change.
func (f *FS) Touch(name string, t time.Time) error {
	if err := f.call("touch", name, false); err != nil {
		return err
	}
	return f.under.Touch(name, t)
}

// SyncDir only pretends.
func (f *FS) SyncDir(name string) error { return f.call("sync folder", name, false) }

// wrote notes that a file may have lost all but its first bytes.
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

// flip changes b, which was read at an offset.
func (f *FS) flip(name string, off int64, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bit, ok := f.flips[filepath.Clean(name)]; ok {
		if i := bit/8 - off; i >= 0 && i < int64(len(b)) {
			b[i] ^= 1 << (bit % 8)
		}
	}
}
