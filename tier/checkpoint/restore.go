package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"atenia/internal/durable"
	"atenia/tier"
	"atenia/tier/blob"
)

// Read reads the manifest of a checkpoint's folder. A nil file system is the
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
	m, err := Parse(text)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Path = path
	}
	if err != nil {
		return nil, err
	}
	if err := m.readSums(dir, text, durable.Default(fsys)); err != nil {
		return nil, err
	}
	return m, nil
}

// RestoreOptions say how a checkpoint is restored.
type RestoreOptions struct {
	// GPU says that there is one. It changes nothing but the reports.
	GPU bool
	// Lazy restores tensors without their bytes, which come when they are
	// first needed.
	Lazy bool
	FS   durable.FS // nil: the operating system's
}

// A Restored is what a restore found.
type Restored struct {
	Manifest *Manifest
	Reports  []Report // of the entries that drifted, in their order
}

// Restore makes the tensors of a checkpoint known to a manager, which must have
// the persistent cache that holds their bytes: in the tiers where they were,
// except those of VRAM, which come to RAM. Hints come back, and gradients can
// be found again. It stops at the first error; what was restored until then
// stays.
func Restore(ctx context.Context, dir string, m *tier.Manager, o RestoreOptions) (*Restored, error) {
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
		if d := DetectDrift(e, e.RestoredTier(), o.GPU); d != nil {
			r.Reports = append(r.Reports, Report{e.ID, d})
		}
		m.SetHint(e.ID, e.Hint)
	}
	return r, nil
}

// restore registers an entry with its bytes. One whose tier is CPU has none.
func (e *Entry) restore(ctx context.Context, m *tier.Manager) error {
	at := e.RestoredTier()
	if at == tier.CPU {
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

// replaced is the error of an entry whose bytes were replaced in the cache.
func (e *Entry) replaced() error {
	return &Error{Kind: ErrInvalidFormat, ID: e.ID, Why: "the cache has other bytes of it than were saved"}
}

// restoreLazily registers an entry by its length.
func (e *Entry) restoreLazily(_ context.Context, m *tier.Manager) error {
	var err error
	if e.Blob != nil {
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

// EnsureMaterialized gives a lazily restored tensor its bytes. It does nothing
// for other ids and the second time.
func EnsureMaterialized(ctx context.Context, m *tier.Manager, id string) error {
	err := m.EnsureMaterialized(ctx, id)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*tier.MoveError](err); ok {
		return &Error{Kind: ErrIO, ID: id, Why: "it cannot be placed", Err: err}
	}
	return cacheError(id, err)
}

// materializing is how many tensors are read at once.
const materializing = 4

// Materialize gives lazily restored tensors their bytes, a few at once, in the
// order given: that of their next use. It returns the first error and then
// starts no more.
func Materialize(ctx context.Context, m *tier.Manager, ids []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan string)
	var lanes sync.WaitGroup
	for range min(materializing, len(ids)) {
		lanes.Go(func() {
			for id := range next {
				if err := EnsureMaterialized(ctx, m, id); err != nil {
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
