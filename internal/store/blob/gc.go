package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"atenia/internal/store/durable"
)

// List describes all entries, sorted by kind and key. An entry whose description
// cannot be read has only a kind, a path and the error.
func (c *Cache) List() ([]Info, error) {
	var list []Info
	for _, k := range Kinds {
		names, err := c.stems(k)
		if err != nil {
			return nil, c.fail(ErrIO, k, "", err)
		}
		for _, name := range names {
			e := c.entry(k, name)
			var info Info
			err := e.readStable(func() (err error) {
				info, err = e.info()
				return err
			})
			if absent(err) { // incomplete, or deleted since
				continue
			}
			if err != nil {
				info = Info{Kind: k, Key: name, Path: e.bin(), Broken: err.Error()}
			}
			list = append(list, info)
		}
	}
	slices.SortStableFunc(list, func(a, b Info) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key)) })
	return list, nil
}

// Verify reads all entries and checks every checksum and that the owner matches
// the file name. It returns them as [Cache.List] does, with faults in Broken,
// and counts the broken ones.
func (c *Cache) Verify(ctx context.Context) (list []Info, broken int, err error) {
	if list, err = c.List(); err != nil {
		return nil, 0, err
	}
	v := verifier{c: c, r: newReader(verifyDepth)}
	for i := range list {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		info := &list[i]
		if info.Broken == "" {
			info.Broken = v.verify(ctx, info)
		}
		if info.Broken != "" {
			broken++
		}
	}
	return list, broken, nil
}

// verifyDepth is how many chunks of an entry are read at once.
const verifyDepth = 3

// A verifier reads entries past the system's cache, which a look at everything
// would fill with what nobody uses.
type verifier struct {
	c   *Cache
	r   *reader
	buf []byte // for the largest entry so far, aligned
}

// load reads and verifies an entry. Foreign entries, and those of other file
// systems than the operating system's, are read as always.
func (v *verifier) load(ctx context.Context, e *entry) ([]byte, error) {
	h, err := e.header()
	if err != nil {
		return nil, err
	}
	s, err := e.sidecar()
	if err != nil {
		return nil, err
	}
	if s == nil || !s.of(h) || !v.c.system {
		return e.load()
	}
	st, err := v.c.fsys.Stat(e.bin())
	if err != nil {
		return nil, err
	}
	if n := int(st.Size()+align-1) / align * align; n > len(v.buf) {
		v.buf = make([]byte, n+align)
		if off := int(uintptr(unsafe.Pointer(unsafe.SliceData(v.buf))) % align); off > 0 {
			v.buf = v.buf[align-off:]
		}
		v.buf = v.buf[:n]
	}
	return v.r.Read(ctx, e.bin(), s.Meta, v.buf)
}

// verify returns what is wrong with an entry.
func (v *verifier) verify(ctx context.Context, i *Info) string {
	c := v.c
	name := strings.TrimSuffix(filepath.Base(i.Path), ".bin")
	if !i.Foreign && name != nameOf(i.Key) && name != suffixed(i.Key) {
		return fmt.Sprintf("it belongs to %q, which would be in another file", i.Key)
	}
	e := c.entry(i.Kind, name)
	err := e.readStable(func() error {
		data, err := v.load(ctx, e)
		if err != nil {
			return err
		}
		h, err := e.header()
		if err == nil && Checksum32(data) != h.Checksum32 {
			err = invalid("checksum mismatch: .meta says %d, the bytes have %d", h.Checksum32, Checksum32(data))
		}
		return err
	})
	if err != nil && !absent(err) {
		return err.Error()
	}
	return ""
}

// A GC limits what [Cache.GC] may remove.
type GC struct {
	// Quota is the number of bytes of files that may stay; 0 is unlimited.
	Quota uint64
	// Keep lists keys that are never evicted.
	Keep map[Kind][]string
	// Now is the current time. Temporary files of killed writers are removed once
	// they are an hour old. The zero time keeps them.
	Now time.Time
	// DryRun reports what would be removed and removes nothing.
	DryRun bool
}

// leftoverAge is the age from which a temporary file is taken to be abandoned.
const leftoverAge = time.Hour

// A GCReport lists what [Cache.GC] removed, or would have.
type GCReport struct {
	Removed   []Info   `json:"removed"`   // least recently used first
	Leftovers []string `json:"leftovers"` // temporary files of killed writers
	Freed     uint64   `json:"freed_bytes"`
	Left      uint64   `json:"left_bytes"`
	// Over is set if the entries that must stay exceed the quota.
	Over bool `json:"over_quota"`
}

// GC evicts the least recently used entries until the quota is met.
func (c *Cache) GC(g GC) (*GCReport, error) {
	list, err := c.List()
	if err != nil {
		return nil, err
	}
	r := &GCReport{Removed: []Info{}, Leftovers: []string{}}
	for i := range list {
		r.Left += list[i].FileBytes
	}
	slices.SortStableFunc(list, func(a, b Info) int { return a.LastUse.Compare(b.LastUse) })
	for _, i := range list {
		if g.Quota == 0 || r.Left <= g.Quota {
			break
		}
		if i.Broken != "" || g.keeps(&i) {
			continue
		}
		if !g.DryRun {
			if err := c.entry(i.Kind, strings.TrimSuffix(filepath.Base(i.Path), ".bin")).delete(); err != nil {
				return r, c.fail(ErrIO, i.Kind, i.Key, err)
			}
		}
		r.Removed, r.Freed, r.Left = append(r.Removed, i), r.Freed+i.FileBytes, r.Left-i.FileBytes
	}
	r.Over = g.Quota > 0 && r.Left > g.Quota
	return r, c.sweep(&g, r)
}

func (g *GC) keeps(i *Info) bool {
	keys := g.Keep[i.Kind]
	if !i.Foreign {
		return slices.Contains(keys, i.Key)
	}
	return slices.ContainsFunc(keys, func(key string) bool { return safe(key) == i.Key }) // it may be the entry of that key
}

// sweep removes abandoned temporary files.
func (c *Cache) sweep(g *GC, r *GCReport) error {
	if g.Now.IsZero() {
		return nil
	}
	for _, k := range Kinds {
		dir := filepath.Join(c.root, k.Folder())
		files, err := c.fsys.ReadDir(dir)
		if err != nil && !absent(err) {
			return c.fail(ErrIO, k, "", err)
		}
		for _, f := range files {
			if !durable.IsTemp(f.Name()) {
				continue
			}
			st, err := f.Info()
			if err != nil || g.Now.Sub(st.ModTime()) < leftoverAge {
				continue // renamed since, or about to be
			}
			path := filepath.Join(dir, f.Name())
			if !g.DryRun {
				if err := c.fsys.Remove(path); err != nil && !absent(err) {
					return c.fail(ErrIO, k, "", err)
				}
			}
			r.Leftovers, r.Freed = append(r.Leftovers, path), r.Freed+uint64(st.Size())
		}
	}
	return nil
}

// remove deletes the files of an entry, the bytes first: without them the entry
// does not exist.
func (e *entry) remove() error {
	for _, f := range []string{e.oldBin(), e.bin(), e.meta(), e.sum(), e.oldSum()} {
		if err := e.c.fsys.Remove(f); err != nil && !absent(err) {
			return err
		}
	}
	return e.c.fsys.SyncDir(filepath.Dir(e.base))
}

// delete is remove under the lock.
func (e *entry) delete() error {
	release, err := e.c.lock()
	if err != nil {
		return err
	}
	return errors.Join(e.remove(), release())
}
