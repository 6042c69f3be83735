package hw

import (
	"os"
	"path/filepath"
	"time"
)

// Kept returns the profile in cacheDir of the storage below dir, which may be
// another device than cacheDir's. It measures nothing: if there is no recent
// profile it returns nil without an error.
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
