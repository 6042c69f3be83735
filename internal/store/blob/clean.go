package blob

import (
	"errors"
	"path/filepath"
	"strings"

	"atenia/internal/store/durable"
)

// Clean removes what killed writers left: temporary files, and descriptions
// whose bytes never came. Replacements that were interrupted are completed or
// undone. It returns the files that it removed; while another writer lives it
// removes none, because they may be its own.
func (c *Cache) Clean() (removed []string, err error) {
	if ok, err := (&entry{c: c}).has(c.root); !ok {
		return nil, err
	}
	free, err := durable.TryLock(c.writers())
	if errors.Is(err, durable.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		return nil, c.fail(ErrIO, Tensor, "", err)
	}
	release, err := c.lock()
	if err != nil {
		return nil, errors.Join(c.fail(ErrIO, Tensor, "", err), free())
	}
	for _, k := range Kinds {
		some, e := c.clean(k)
		removed = append(removed, some...)
		if e != nil {
			err = errors.Join(err, c.fail(ErrIO, k, "", e))
		}
	}
	return removed, errors.Join(err, release(), free())
}

// clean is Clean of one kind, under both locks.
func (c *Cache) clean(k Kind) (removed []string, err error) {
	dir := filepath.Join(c.root, k.Folder())
	files, err := c.fsys.ReadDir(dir)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range files {
		names[f.Name()] = true
	}
	for _, f := range files {
		name := f.Name()
		stem, kind := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
		switch {
		case durable.IsTemp(name):
		case strings.HasSuffix(name, ".bin.old"):
			if err := c.entry(k, strings.TrimSuffix(name, ".bin.old")).repair(); err != nil {
				return removed, err
			}
			continue
		case (kind == ".meta" || kind == ".sum") && !names[stem+".bin"] && !names[stem+".bin.old"]:
		default:
			continue
		}
		path := filepath.Join(dir, name)
		if err := c.fsys.Remove(path); err != nil && !absent(err) {
			return removed, err
		}
		removed = append(removed, path)
	}
	return removed, nil
}
