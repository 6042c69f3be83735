package memory

// Files of tensors on SSD, one each, and their persistent copies.

import (
	"context"
	"errors"
	"fmt"

	"atenia/internal/store/blob"
)

// A file is the SSD file of a tensor.
type file struct {
	path string
	meta blob.Meta
	size uint64 // of the file
}

// ensureDir creates the directory of SSD files.
func (m *Manager) ensureDir(id string) error {
	if err := m.files.EnsureDir(); err != nil {
		return fileError(id, "the folder of SSD tensors", err)
	}
	return nil
}

// fileError gives a file's error its kind. Corrupt bytes are unsupported rather
// than an I/O error, because retrying does not help.
func fileError(id, what string, err error) error {
	kind := errIO
	if errors.Is(err, blob.ErrInvalid) {
		kind = errUnsupported
	}
	return &MoveError{Kind: kind, ID: id, Why: what, Err: err}
}

// write makes the state of a tensor on SSD. The file appears complete or not at
// all.
func (m *Manager) write(ctx context.Context, id string, data []byte, codec blob.Codec) (onSSD, error) {
	f := file{size: uint64(len(data))}
	err := m.transfer(ctx, id, func() (err error) {
		if err := m.ensureDir(id); err != nil {
			return err
		}
		if f.path, f.meta, err = m.files.WriteContext(ctx, id, data, codec); err != nil {
			return fileError(id, "writing its file", err)
		}
		if codec != blob.None { // which changes the size
			if st, err := m.fs.Stat(f.path); err == nil {
				f.size = uint64(st.Size())
			}
		}
		m.replaced(BackingSSDFile, id)
		return nil
	})
	return onSSD{file: f}, err
}

// readFile returns the bytes of a tensor on SSD, decoded and verified.
func (m *Manager) readFile(ctx context.Context, id string, f file) (data []byte, err error) {
	err = m.transfer(ctx, id, func() error {
		if data, err = m.files.ReadContext(ctx, f.path, f.meta); err != nil {
			return fileError(id, "reading its file", err)
		}
		return nil
	})
	return data, err
}

// keep also stores a tensor's file in the cache as its persistent copy. The copy
// is optional: if it fails, the move still succeeds and [Manager.Health] reports
// the error.
func (m *Manager) keep(r *residence, f file, data []byte) {
	key := fmt.Sprintf("tensor:%s:len%d", r.id, len(data))
	m.recordPersist(r.id, m.cache.Adopt(blob.Tensor, key, f.path, f.meta, data, blob.Options{Overwrite: true, Version: r.version}))
}
