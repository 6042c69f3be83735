package fit

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
	"atenia/internal/train"
)

// TestAbandoned ends runs in files at each part of a step: few more pieces are read or
// written, and the run that goes on ends with the same bytes.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	want := export(t, tinyModel(t, sizes, ModelOptions{BF16: true}), pageConfig(t, true, 0.5, 2))
	// Chunks that are on their way, in two files each, and a group of gradients.
	const most = 30
	for _, isPaged := range []bool{true, false} {
		whole, stops := 0, 0
		for at := 0; at <= whole; at += max(1, whole/17) {
			cfg := pageConfig(t, true, 0.5, 2)
			run := func(at int) (calls, late int, err error) {
				a := ledger.New(nil, 0)
				m := tinyModel(t, sizes, ModelOptions{BF16: true})
				if isPaged {
					m = pagedModel(t, sizes, true, a, 1)
				}
				cfg.Paging, cfg.Offload = &train.Paging{Account: a, ChunkBytes: 1 << 12}, !isPaged
				if !isPaged {
					cfg.Paging = nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				fsys := &endingFS{FS: faultfs.NoSync(), at: int64(at), end: cancel}
				cfg.FS = fsys
				if _, err = train.Run(ctx, cfg, m, &rows{}, &rows{}); err == nil {
					got := t.TempDir()
					if err := m.Export(nil, got); err != nil {
						t.Fatal(err)
					}
					b, err := os.ReadFile(filepath.Join(got, "model.safetensors"))
					if err != nil || !bytes.Equal(b, want) {
						t.Errorf("paged %v, ended at %d: the models differ, %v", isPaged, at, err)
					}
				}
				if cerr := m.Close(); cerr != nil && ctx.Err() == nil {
					t.Error(cerr)
				}
				return int(fsys.calls.Load()), int(fsys.calls.Load() - fsys.atEnd.Load()), err
			}
			calls, late, err := run(at)
			switch {
			case at == 0:
				whole = calls
				if err != nil || whole < 5*most {
					t.Fatalf("%d calls of the file system: %v", whole, err)
				}
				continue
			case err == nil: // in the last pieces
				continue
			case !errors.Is(err, train.ErrStopped) && !errors.Is(err, context.Canceled):
				t.Fatal(err)
			case late > most:
				t.Errorf("paged %v: %d calls after the end at %d of %d", isPaged, late, at, whole)
			}
			stops++
			cfg.Resume = true
			if _, _, err := run(0); err != nil {
				t.Errorf("paged %v, ended at %d: %v", isPaged, at, err)
			}
		}
		if stops < 10 {
			t.Errorf("paged %v: %d stops", isPaged, stops)
		}
	}
}

// An endingFS ends a context at a read or a write, and counts them.
type endingFS struct {
	durable.FS
	at    int64 // 0 = never
	end   func()
	calls atomic.Int64
	atEnd atomic.Int64
}

func (e *endingFS) count() {
	if n := e.calls.Add(1); n == e.at {
		e.end()
		e.atEnd.Store(n)
	}
}

func (e *endingFS) OpenFile(name string, flag int, mode fs.FileMode) (durable.File, error) {
	f, err := e.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return endingFile{f, e}, nil
}

type endingFile struct {
	durable.File
	fs *endingFS
}

func (f endingFile) ReadAt(b []byte, at int64) (int, error) {
	f.fs.count()
	return f.File.ReadAt(b, at)
}

func (f endingFile) WriteAt(b []byte, at int64) (int, error) {
	f.fs.count()
	return f.File.WriteAt(b, at)
}

func (f endingFile) Write(b []byte) (int, error) {
	f.fs.count()
	return f.File.Write(b)
}
