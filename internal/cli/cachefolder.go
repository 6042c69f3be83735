package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"atenia"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/store/blob"
	"atenia/place"
)

// entriesOf lists the entries of a cache folder by kind and key.
func entriesOf(dir string) ([]blob.Info, error) {
	c, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	return c.List()
}

// verifyFolder reads all entries of a cache folder and sets Broken of those
// that are damaged.
func verifyFolder(ctx context.Context, dir string) (entries []blob.Info, broken int, err error) {
	c, err := openFolder(dir)
	if err != nil {
		return nil, 0, err
	}
	return c.Verify(ctx)
}

// A collection says which entries of a cache may be removed.
type collection struct {
	quota  string   // what files may take, such as "20GiB"; "" is any number of bytes
	keep   []string // folders of checkpoints, whose entries stay
	dryRun bool     // remove nothing
	named  bool     // also remove what checkpoints near the cache name
}

// collect removes the least recently used entries of a cache folder until the
// quota is met, and files that killed writers left more than an hour ago.
func (g *collection) collect(dir string) (*blob.GCReport, error) {
	gc := blob.GC{Now: time.Now(), DryRun: g.dryRun, Keep: map[blob.Kind][]string{}}
	if g.quota != "" {
		n, err := place.ParseSize(g.quota)
		if err != nil || n < 1 {
			return nil, &atenia.ConfigError{Field: "Quota", Got: g.quota, Want: "a size, such as 20GiB"}
		}
		gc.Quota = uint64(n)
	}
	c, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	if !g.named {
		near, err := checkpoint.Nearby(c, nil)
		if err != nil { // nothing is removed that it may name
			return nil, fmt.Errorf("%w; repair or remove that checkpoint, or give --remove-named", err)
		}
		for b := range near {
			gc.Keep[b.Kind] = append(gc.Keep[b.Kind], b.Key)
		}
	}
	for _, d := range g.keep {
		m, err := checkpoint.Read(d, nil)
		if err != nil { // nothing is removed that it may name
			return nil, err
		}
		for i := range m.Entries {
			if b := m.Entries[i].Blob; b != nil {
				gc.Keep[b.Kind] = append(gc.Keep[b.Kind], b.Key)
			}
		}
	}
	return c.GC(gc)
}

// openFolder opens a cache that is there.
func openFolder(dir string) (*blob.Cache, error) {
	const want = "%s: want the folder of a cache, got %s: %w"
	switch st, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf(want, dir, "nothing of that name", fs.ErrNotExist)
	case err != nil:
		return nil, err
	case !st.IsDir():
		return nil, fmt.Errorf(want, dir, "a file", fs.ErrInvalid)
	}
	return blob.OpenCache(dir, blob.Config{})
}
