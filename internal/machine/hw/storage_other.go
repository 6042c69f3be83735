//go:build !linux

package hw

import "io/fs"

// storageOf only knows the directory's name, which is the key of its profile.
func storageOf(_ fs.FS, dir string) *Storage { return &Storage{Kind: unknown, Device: dir} }

func pageReporting(fs.FS) bool { return false }

func lockLimit(fs.FS) (uint64, bool) { return 0, false }
