package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// registryName is the file of a cache that lists the folders of checkpoints that
// refer to it, one quoted path in a line. The folder around a cache need not be
// listed.
const registryName = ".checkpoints"

// register writes down in a cache that the checkpoint in a directory refers to
// it, for [Nearby].
func register(dir string, c *blob.Cache, fsys durable.FS) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return &Error{Kind: ErrIO, Path: dir, Why: "its path is not known", Err: err}
	}
	known, path, err := registered(c, durable.Default(fsys))
	if err != nil || slices.Contains(known, abs) || abs == around(c) {
		return err
	}
	err = durable.Default(fsys).MkdirAll(c.Root(), 0o777)
	if err == nil {
		err = durable.ReplaceIn(fsys, path, func(w io.Writer) error {
			for _, d := range append(known, abs) {
				if _, err := io.WriteString(w, strconv.Quote(d)+"\n"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return &Error{Kind: ErrIO, Path: path, Why: "the cache cannot list who refers to it", Err: err}
	}
	return nil
}

// around returns the absolute path of the folder that a cache is in.
func around(c *blob.Cache) string {
	abs, err := filepath.Abs(c.Root())
	if err != nil {
		abs = c.Root()
	}
	return filepath.Dir(abs)
}

// registered returns the folders listed in a cache, and the file that lists them.
func registered(c *blob.Cache, fsys durable.FS) (dirs []string, path string, err error) {
	path = filepath.Join(c.Root(), registryName)
	text, err := fsys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, &Error{Kind: ErrIO, Path: path, Why: "the list of checkpoints cannot be read", Err: err}
	}
	line := 0
	for s := range strings.Lines(string(text)) {
		line++
		dir, err := strconv.Unquote(strings.TrimSuffix(s, "\n"))
		if err != nil {
			return nil, path, &Error{Kind: ErrInvalidFormat, Path: path, Line: line, Why: "want a quoted folder"}
		}
		dirs = append(dirs, dir)
	}
	return dirs, path, nil
}

// Nearby returns the cache entries that a checkpoint near a cache refers to: the
// one in the folder around it, and those registered. A folder that is gone
// refers to nothing; a manifest that cannot be read is an error, because nothing
// may be removed that it could name.
func Nearby(c *blob.Cache, fsys durable.FS) (map[Blob]bool, error) { return nearby(c, fsys, "") }

// nearby is [Nearby] without the checkpoint in a directory.
func nearby(c *blob.Cache, fsys durable.FS, but string) (map[Blob]bool, error) {
	if abs, err := filepath.Abs(but); but != "" && err == nil {
		but = abs
	}
	dirs, _, err := registered(c, durable.Default(fsys))
	if err != nil {
		return nil, err
	}
	named := map[Blob]bool{}
	for _, dir := range append(dirs, around(c)) {
		if dir == but {
			continue
		}
		m, err := Read(dir, fsys)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range m.Entries {
			if b := m.Entries[i].Blob; b != nil {
				named[*b] = true
			}
		}
	}
	return named, nil
}
