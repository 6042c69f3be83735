package atenia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"atenia/tier/blob"
	"atenia/tier/budget"
	"atenia/tier/checkpoint"
)

// A CacheEntry is one of a cache folder.
type CacheEntry = blob.Info

// CacheEntries lists the entries of a cache folder by kind and key.
func CacheEntries(dir string) ([]CacheEntry, error) {
	c, err := openCacheFolder(dir)
	if err != nil {
		return nil, err
	}
	return c.List()
}

// VerifyCache reads all entries of a cache folder and says in Broken what is
// wrong with those that are not what they were.
func VerifyCache(ctx context.Context, dir string) (entries []CacheEntry, broken int, err error) {
	c, err := openCacheFolder(dir)
	if err != nil {
		return nil, 0, err
	}
	return c.Verify(ctx)
}

// A CacheGC says what [CollectCache] may remove.
type CacheGC struct {
	Quota  string   // what files may take, such as "20GiB"; "" is any number of bytes
	Keep   []string // folders of checkpoints, whose entries stay
	DryRun bool     // remove nothing
}

// CollectCache removes entries of a cache folder until the quota is kept,
// those first that were used least lately, and what writers left behind that
// were killed more than an hour ago.
func CollectCache(dir string, cfg *CacheGC) (*blob.GCReport, error) {
	g := blob.GC{Now: time.Now(), DryRun: cfg.DryRun, Keep: map[blob.Kind][]string{}}
	if cfg.Quota != "" {
		n, err := budget.ParseSize(cfg.Quota)
		if err != nil || n < 1 {
			return nil, &ConfigError{"Quota", cfg.Quota, "a size, such as 20GiB"}
		}
		g.Quota = uint64(n)
	}
	c, err := openCacheFolder(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range cfg.Keep {
		m, err := checkpoint.Read(d, nil)
		if err != nil { // nothing is removed that it may name
			return nil, err
		}
		for i := range m.Entries {
			if b := m.Entries[i].Blob; b != nil {
				g.Keep[b.Kind] = append(g.Keep[b.Kind], b.Key)
			}
		}
	}
	return c.GC(g)
}

// openCacheFolder opens a cache that is there.
func openCacheFolder(dir string) (*blob.Cache, error) {
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
