package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// A Folder is the folder of a checkpoint and the cache that has its bytes.
type Folder struct {
	dir   string
	cache *blob.Cache
	gpu   bool // this machine has one
}

// OpenFolder returns a folder, which need not be there yet. cache is "" for the one
// inside.
func OpenFolder(dir, cache string, gpu bool) (*Folder, error) {
	if cache == "" {
		cache = filepath.Join(dir, "cache")
	}
	c, err := blob.OpenCache(cache, blob.Config{})
	if err != nil {
		return nil, err
	}
	return &Folder{dir, c, gpu}, nil
}

// A Listing is what a checkpoint says, and what this machine makes of it.
type Listing struct {
	Dir       string        `json:"dir"`
	Created   uint64        `json:"created_unix"`
	Bytes     uint64        `json:"bytes"`
	GPU       bool          `json:"gpu"`
	Entries   []FolderEntry `json:"entries"`
	Drift     []FolderDrift `json:"drift"` // as a restore on this machine finds it
	WarmStart WarmStart     `json:"warm_start"`
}

// An FolderEntry is one tensor.
type FolderEntry struct {
	ID      string       `json:"id"`
	IsGrad  bool         `json:"is_grad"`
	Tier    memory.Tier  `json:"tier"`
	Bytes   uint64       `json:"bytes"`
	Blob    *Blob        `json:"blob"`           // null: its bytes are not in the cache
	File    string       `json:"file,omitempty"` // that has its bytes, if the cache has not
	Desired *memory.Tier `json:"desired"`
	Summary *string      `json:"plan_summary"`
	Hash    string       `json:"xxh3,omitempty"`
}

// A FolderDrift is one way in which an entry is not as it was wanted.
type FolderDrift struct {
	ID    string    `json:"id"`
	Kind  DriftKind `json:"drift"`
	Cause Cause     `json:"cause"`
	Text  string    `json:"text"`
}

// Inspect reads the manifest alone.
func (f *Folder) Inspect() (*Listing, error) {
	m, err := Read(f.dir, nil)
	if err != nil {
		return nil, err
	}
	l := &Listing{Dir: f.dir, Created: m.Created, GPU: f.gpu, Entries: []FolderEntry{}}
	for i := range m.Entries {
		e := &m.Entries[i]
		out := FolderEntry{ID: e.ID, IsGrad: e.IsGrad, Tier: e.Tier, Bytes: e.Bytes, Blob: e.Blob, Desired: e.Hint.Desired}
		if e.Hint.HasSummary {
			out.Summary = &e.Hint.Summary
		}
		if e.Source != nil {
			out.File = e.Source.Path
		}
		if e.Hash != (blob.Hash{}) {
			out.Hash = e.Hash.String()
		}
		l.Bytes += e.Bytes
		l.Entries = append(l.Entries, out)
	}
	reports := m.Reports(f.gpu)
	l.Drift = drifts(reports)
	l.WarmStart = *PlanWarmStart(memory.New(memory.Config{}), m.Entries, reports, f.gpu, DefaultRules)
	return l, nil
}

func drifts(reports []Report) []FolderDrift {
	out := []FolderDrift{}
	for _, r := range reports {
		for _, d := range r.Drifts {
			out = append(out, FolderDrift{r.ID, d.Kind, d.Cause, d.String()})
		}
	}
	return out
}

// A Check is what verifying an entry found.
type Check struct {
	ID     string `json:"id"`
	Bytes  uint64 `json:"bytes"`
	Status Status `json:"status"`
	Why    string `json:"why,omitempty"`
}

// A Status is how the bytes of an entry are.
type Status string

// The statuses.
const (
	Good    Status = "ok"
	None    Status = "none"    // the checkpoint names none, and the tier is one that has none
	Unread  Status = "unread"  // the bytes are a model's that is in no file, such as the embedded one
	Missing Status = "missing" // nowhere, or not in the cache
	Stale   Status = "stale"   // whole, and not those that were saved
	Damaged Status = "damaged"
)

// Failed reports whether a restore would not find what was saved.
func (s Status) Failed() bool { return s != Good && s != None && s != Unread }

// Verify reads all bytes of a checkpoint and compares them with every sum
// there is: those of the cache and those of the checkpoint. It has no model: the
// bytes of one that is in no file are compared when a run resumes with it.
func (f *Folder) Verify(ctx context.Context) ([]Check, error) {
	m, err := Read(f.dir, nil)
	if err != nil {
		return nil, err
	}
	out := []Check{}
	for i := range m.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, f.check(ctx, m.Model, &m.Entries[i]))
	}
	return out, nil
}

func (f *Folder) check(ctx context.Context, of *Model, e *Entry) Check {
	c := Check{ID: e.ID, Bytes: e.Bytes, Status: Good}
	fail := func(s Status, format string, args ...any) Check {
		c.Status, c.Why = s, fmt.Sprintf(format, args...)
		return c
	}
	if e.Blob == nil && e.Source != nil {
		m := memory.New(memory.Config{})
		err := m.RegisterLazyFile(e.ID, e.Bytes, memory.RAM, *e.Source)
		if err == nil {
			err = m.EnsureMaterialized(ctx, e.ID)
		}
		if err != nil {
			return fail(Missing, "%v", err)
		}
		return c
	}
	if e.Blob == nil {
		if e.Tier == memory.CPU {
			return fail(None, "")
		}
		if of != nil && of.Types[e.ID] != "" {
			return fail(Unread, "a weight of %s, which is in no file: a run that resumes with the model checks it", of.Path)
		}
		return fail(Missing, "the checkpoint names no bytes")
	}
	data, err := f.cache.Get(e.Blob.Kind, e.Blob.Key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return fail(Missing, "%v", err)
	case err != nil:
		return fail(Damaged, "%v", err)
	case uint64(len(data)) != e.Bytes:
		return fail(Damaged, "the cache has %d bytes, the manifest says %d", len(data), e.Bytes)
	case e.Hash != (blob.Hash{}) && blob.HashOf(data) != e.Hash:
		return fail(Stale, "the cache has other bytes than were saved")
	}
	return c
}

// A Restoring says how a checkpoint is restored.
type Restoring struct {
	Lazy bool   // bytes are not read
	RAM  uint64 // budget; 0 = none
}

// A FolderPlaced is a tensor after a restore.
type FolderPlaced struct {
	ID    string      `json:"id"`
	Bytes uint64      `json:"bytes"`
	Saved memory.Tier `json:"saved"`
	Tier  memory.Tier `json:"tier"`
	State string      `json:"state"` // Materialized, Unmaterialized or, with CPU, None
}

// A FolderRestored is what a restore did.
type FolderRestored struct {
	Tensors   []FolderPlaced `json:"tensors"`
	Drift     []FolderDrift  `json:"drift"`
	WarmStart WarmStart      `json:"warm_start"`
	Ledger    memory.Ledger  `json:"ledger"`
}

// Restore restores a checkpoint into the memory of this process and a folder
// for its SSD tensors that is removed again: it shows what a program gets.
func (f *Folder) Restore(ctx context.Context, o Restoring) (r *FolderRestored, err error) {
	ssd, remove, err := durable.TempDir("", "atenia-restore-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	c := memory.Config{Dir: ssd, Cache: f.cache}
	if o.RAM > 0 {
		c.Budget = map[memory.Tier]uint64{memory.RAM: o.RAM}
	}
	m := memory.New(c)
	got, err := Restore(ctx, f.dir, m, RestoreOptions{GPU: f.gpu, Lazy: o.Lazy})
	if err != nil {
		return nil, err
	}
	r = &FolderRestored{Tensors: []FolderPlaced{}, Drift: drifts(got.Reports), Ledger: m.Ledger()}
	r.WarmStart = *PlanWarmStart(m, got.Manifest.Entries, got.Reports, f.gpu, DefaultRules)
	for i := range got.Manifest.Entries {
		e := &got.Manifest.Entries[i]
		p := FolderPlaced{ID: e.ID, Bytes: e.Bytes, Saved: e.Tier, Tier: e.RestoredTier(), State: "None"}
		if s, ok := m.LazyState(e.ID); ok {
			p.State = s.String()
		} else if res, ok := m.Residence(e.ID); ok && res.Backing != memory.BackingNone {
			p.State = memory.Materialized.String()
		}
		r.Tensors = append(r.Tensors, p)
	}
	return r, nil
}

// A Swept is an entry of the cache that no checkpoint names.
type Swept struct {
	Blob
	Bytes uint64 `json:"bytes"` // on the disk
}

// Collect removes the entries of the cache that neither this checkpoint nor
// those of the other folders name, or with dry only lists them. A manifest
// that cannot be read stops it before anything is removed.
// Checkpoints that the cache knows of count, too.
func (f *Folder) Collect(ctx context.Context, others []string, dry bool) (out []Swept, err error) {
	if _, err := Read(f.dir, nil); errors.Is(err, fs.ErrNotExist) {
		return nil, err // a lock would make the folder
	}
	release, err := Lock(ctx, f.dir, patience)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	named, err := Nearby(f.cache, nil)
	if err != nil {
		return nil, err
	}
	for _, dir := range append([]string{f.dir}, others...) {
		m, err := Read(dir, nil)
		if err != nil {
			return nil, err
		}
		for i := range m.Entries {
			if b := m.Entries[i].Blob; b != nil {
				named[*b] = true
			}
		}
	}
	out = []Swept{}
	for _, kind := range []blob.Kind{blob.Tensor, blob.Gradient} {
		keys, err := f.cache.Keys(kind)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			b := Blob{Kind: kind, Key: key}
			if err := ctx.Err(); err != nil {
				return out, err
			}
			if named[b] {
				continue
			}
			s := Swept{Blob: b}
			if info, err := f.cache.Stat(kind, key); err == nil {
				// Without a sidecar the key is a guess, and the file may be
				// that of one that is named.
				if info.Foreign && f.shares(info.Path, named) {
					continue
				}
				s.Bytes = info.FileBytes
			}
			if !dry {
				if err := f.cache.Delete(kind, key); err != nil {
					return out, err
				}
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// shares reports whether a file is that of an entry that is named.
func (f *Folder) shares(path string, named map[Blob]bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(named)), func(b Blob) bool {
		info, err := f.cache.Stat(b.Kind, b.Key)
		return err == nil && info.Path == path
	})
}
