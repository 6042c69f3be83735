package faultfs

import (
	"io/fs"

	"atenia/internal/store/durable"
)

// NoSync returns the operating system's file system without syncs, for tests
// that write many files and do not test power failures.
func NoSync() durable.FS { return noSync{durable.Default(nil)} }

type noSync struct{ durable.FS }

func (n noSync) OpenFile(name string, flag int, mode fs.FileMode) (durable.File, error) {
	f, err := n.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}

func (noSync) SyncDir(string) error { return nil }

func (noSync) SyncFiles([]string) error { return nil }

type noSyncFile struct{ durable.File }

func (noSyncFile) Sync() error { return nil }
