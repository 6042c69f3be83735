package hw

import (
	"os"
	"path/filepath"
	"time"
)

// Kept returns the profile that a cache folder has of the storage below dir,
// which may be another device than its own. Nothing is measured: without a
// profile that is young enough there is none, and no error.
func Kept(cacheDir, dir string) (*Profile, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	kept, err := readProfiles(nil, filepath.Join(cacheDir, profilesName))
	if err != nil {
		return nil, err
	}
	return kept.find(storageOf(os.DirFS("/"), dir).Device, time.Now()), nil
}
