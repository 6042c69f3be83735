package tier

// Files of tensors on SSD, one each, and their persistent copies.

import (
	"context"
	"errors"
	"fmt"

	"atenia/tier/blob"
)

// A file holds the bytes of a tensor.
type file struct {
	path string
	meta blob.Meta
	size uint64 // of the file
}

// ensureDir makes the folder of SSD tensors.
func (m *Manager) ensureDir(id string) error {
	if err := m.files.EnsureDir(); err != nil {
		return fileError(id, "the folder of SSD tensors", err)
	}
	return nil
}

// fileError gives an error of a file its kind: bytes that are not what they
// should be are unsupported, as trying again does not help.
func fileError(id, what string, err error) error {
	kind := ErrIO
	if errors.Is(err, blob.ErrInvalid) {
		kind = ErrUnsupported
	}
	return &MoveError{Kind: kind, ID: id, Why: what, Err: err}
}

// write makes the state of a tensor on SSD. The file is there whole or not at
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

// readFile returns the bytes of a tensor on SSD, decoded and checked.
func (m *Manager) readFile(ctx context.Context, id string, f file) (data []byte, err error) {
	err = m.transfer(ctx, id, func() error {
		if data, err = m.files.ReadContext(ctx, f.path, f.meta); err != nil {
			return fileError(id, "reading its file", err)
		}
		return nil
	})
	return data, err
}

// keep makes a tensor's file its persistent copy in the cache, too. The copy is
// an extra: without it the move is as good, and [Manager.Health] says what went
// wrong.
func (m *Manager) keep(r *residence, f file, data []byte) {
	key := fmt.Sprintf("tensor:%s:len%d", r.id, len(data))
	m.persisted(r.id, m.cache.Adopt(blob.Tensor, key, f.path, f.meta, data, blob.Options{Overwrite: true, Version: r.version}))
}
