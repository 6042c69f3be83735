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
func (m *Manager) write(ctx context.Context, id string, data []byte, codec blob.Codec) (_ state, room *reservation, err error) {
	m.sweep()
	if room, err = m.reserve(id, SSD, uint64(len(data))); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			room.cancel()
			room = nil
		}
	}()
	if err = m.ensureDir(id); err != nil {
		return nil, room, err
	}
	if err = ctx.Err(); err != nil {
		return nil, room, &MoveError{Kind: ErrIO, ID: id, Why: "cancelled", Err: err}
	}
	f := file{size: uint64(len(data))}
	if f.path, f.meta, err = m.files.Write(id, data, codec); err != nil {
		return nil, room, fileError(id, "writing its file", err)
	}
	if st, err := m.fs.Stat(f.path); err == nil { // a codec changes the size
		f.size = uint64(st.Size())
	}
	m.replaced(SSD, id)
	return onSSD{file: f}, room, nil
}

// readFile returns the bytes of a tensor on SSD, decoded and checked.
func (m *Manager) readFile(ctx context.Context, id string, f file) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, &MoveError{Kind: ErrIO, ID: id, Why: "cancelled", Err: err}
	}
	data, err := m.files.Read(f.path, f.meta)
	if err != nil {
		return nil, fileError(id, "reading its file", err)
	}
	return data, nil
}

// spill writes bytes to SSD and, if a cache is attached, makes the same file
// its persistent copy there. The copy is an extra: without it the move is as
// good, and [Manager.Health] says what went wrong.
func (m *Manager) spill(ctx context.Context, r *residence, data []byte) (state, *reservation, error) {
	st, room, err := m.write(ctx, r.id, data, blob.None)
	if err == nil && m.cache != nil {
		f, key := st.(onSSD).file, fmt.Sprintf("tensor:%s:len%d", r.id, len(data))
		m.persisted(r.id, m.cache.Adopt(blob.Tensor, key, f.path, f.meta, data, blob.Options{Overwrite: true, Version: r.version}))
	}
	return st, room, err
}
