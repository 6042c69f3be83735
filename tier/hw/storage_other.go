//go:build !linux

package hw

import "io/fs"

// storageOf knows the folder only: its profile is kept under its name.
func storageOf(_ fs.FS, dir string) *Storage { return &Storage{Kind: Unknown, Device: dir} }

func pageReporting(fs.FS) bool { return false }

func lockLimit(fs.FS) (uint64, bool) { return 0, false }
