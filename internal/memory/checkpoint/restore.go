package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"atenia/internal/fault"
	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// Read reads the manifest in a checkpoint's directory. A nil file system is the
// operating system's.
func Read(dir string, fsys durable.FS) (*Manifest, error) {
	path := filepath.Join(dir, Name)
	text, err := durable.Default(fsys).ReadFile(path)
	if err != nil {
		why := "the manifest cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			why = "there is no checkpoint in this folder"
		}
		return nil, &Error{Kind: ErrIO, Path: path, Why: why, Err: err}
	}
	m, err := parse(text)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Path = path
	}
	if err != nil {
		return nil, err
	}
	if err := m.readSums(dir, text, durable.Default(fsys)); err != nil {
		return nil, err
	}
	if err := m.readModel(dir, text, durable.Default(fsys)); err != nil {
		return nil, err
	}
	return m, nil
}

// RestoreOptions configure [Restore].
type RestoreOptions struct {
	// GPU says whether there is one. It affects the reports only.
	GPU bool
	// Lazy restores tensors without their bytes, which are read on first use.
	Lazy bool
	FS   durable.FS // nil: the operating system's
}

// A Restored is the result of a restore.
type Restored struct {
	Manifest *Manifest
	Reports  []Report // of the entries that drifted, in order
}

// Restore registers the tensors of a checkpoint with a manager, which must have
// the persistent cache that holds their bytes. They return to their saved tiers,
// those in VRAM to RAM; hints and the keys of gradients are restored too. It
// stops at the first error and does not undo what was restored before.
func Restore(ctx context.Context, dir string, m *memory.Manager, o RestoreOptions) (*Restored, error) {
	manifest, err := Read(dir, o.FS)
	if err != nil {
		return nil, err
	}
	if m.Cache() == nil {
		return nil, &Error{Kind: ErrIO, Why: "Persistent cache not attached to HybridMemoryManager"}
	}
	r := &Restored{Manifest: manifest}
	for i := range manifest.Entries {
		e := &manifest.Entries[i]
		restore := e.restore
		if o.Lazy {
			restore = e.restoreLazily
		}
		if err := ctx.Err(); err != nil {
			return nil, &Error{Kind: ErrIO, ID: e.ID, Why: "cancelled", Err: err}
		}
		if err := restore(ctx, m); err != nil {
			return nil, err
		}
		if e.IsGrad && e.Blob != nil {
			m.IndexGradient(e.ID, e.Blob.Key)
		}
		if d := detectDrift(e, e.RestoredTier(), o.GPU); d != nil {
			r.Reports = append(r.Reports, Report{e.ID, d})
		}
		m.SetHint(e.ID, e.Hint)
	}
	return r, nil
}

// restore registers an entry with its bytes. A CPU entry has none.
func (e *Entry) restore(ctx context.Context, m *memory.Manager) error {
	at := e.RestoredTier()
	if at == memory.CPU {
		return nil
	}
	if e.Source != nil && e.Blob == nil {
		err := m.RegisterLazyFile(e.ID, e.Bytes, at, *e.Source)
		if err == nil {
			err = m.EnsureMaterialized(ctx, e.ID)
		}
		if err != nil {
			return &Error{Kind: ErrIO, ID: e.ID, Why: "its bytes are not in the file that had them", Err: err}
		}
		return nil
	}
	if e.Blob == nil {
		return &Error{Kind: ErrMissingBlob, ID: e.ID, Why: "the checkpoint names no bytes of it: save with its bytes in the cache"}
	}
	data, err := m.Cache().Get(e.Blob.Kind, e.Blob.Key)
	if err != nil {
		return cacheError(e.ID, err)
	}
	if uint64(len(data)) != e.Bytes {
		return &Error{Kind: ErrInvalidFormat, ID: e.ID, Why: fmt.Sprintf("the cache has %d bytes of it, the manifest says %d", len(data), e.Bytes)}
	}
	if e.Hash != (blob.Hash{}) && blob.HashOf(data) != e.Hash {
		return e.replaced()
	}
	if _, _, err := m.Place(ctx, e.ID, data, at); err != nil {
		return &Error{Kind: ErrIO, ID: e.ID, Why: "it cannot be placed", Err: err}
	}
	return nil
}

// replaced returns the error for an entry whose bytes in the cache were replaced
// since the save.
func (e *Entry) replaced() error {
	return &Error{Kind: ErrInvalidFormat, ID: e.ID, Why: "the cache has other bytes of it than were saved"}
}

// restoreLazily registers an entry by its length.
func (e *Entry) restoreLazily(_ context.Context, m *memory.Manager) error {
	var err error
	if e.Source != nil && e.Blob == nil {
		err = m.RegisterLazyFile(e.ID, e.Bytes, e.RestoredTier(), *e.Source)
	} else if e.Blob != nil {
		if e.Hash != (blob.Hash{}) {
			info, err := m.Cache().Stat(e.Blob.Kind, e.Blob.Key)
			if err == nil && info.Hash != (blob.Hash{}) && info.Hash != e.Hash {
				return e.replaced()
			}
		}
		err = m.RegisterLazy(e.ID, e.Bytes, e.RestoredTier(), e.Blob.Kind, e.Blob.Key)
	} else {
		err = m.Register(e.ID, e.Bytes, e.RestoredTier())
	}
	if err != nil {
		return &Error{Kind: ErrIO, ID: e.ID, Why: "it cannot be registered", Err: err}
	}
	return nil
}

// EnsureMaterialized reads the bytes of a lazily restored tensor. It does
// nothing for a tensor that is not lazy or has its bytes already.
func EnsureMaterialized(ctx context.Context, m *memory.Manager, id string) error {
	err := m.EnsureMaterialized(ctx, id)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*memory.MoveError](err); ok {
		return &Error{Kind: ErrIO, ID: id, Why: "it cannot be placed", Err: err}
	}
	return cacheError(id, err)
}

// materializing is the number of tensors read concurrently.
const materializing = 4

// Materialize prefetches lazily restored tensors, a few concurrently, in the
// order given, which should be that of their next use. After the first error it
// starts no more and returns it.
func Materialize(ctx context.Context, m *memory.Manager, ids []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan string)
	var lanes fault.Group
	for range min(materializing, len(ids)) {
		lanes.Go(func() {
			for id := range next {
				if err := fault.Call(func() error { return EnsureMaterialized(ctx, m, id) }); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, id := range ids {
		select {
		case next <- id:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	lanes.Wait()
	return context.Cause(ctx)
}
