package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"atenia/internal/memory"
	"atenia/internal/model/file"
	"atenia/internal/spelling"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
	"atenia/place"
)

// A Saving says what a checkpoint is made of.
type Saving struct {
	Model string // modelFile or folder; "" = what the cache has already
	// RAM is how many bytes are placed in RAM, first tensors first; what does not
	// fit goes to the SSD, and RAM is where they are wanted. SetRAM reads it.
	RAM     uint64
	limited bool
	Created uint64 // seconds since 1970; 0 = now
	// InPlace leaves the bytes in the model's files and refers to them there.
	InPlace bool
	// Overwrite replaces other bytes that the cache has of a tensor and that no
	// checkpoint names. Without it they are an error, [blob.ErrExists].
	Overwrite bool
}

// SetRAM reads a size such as "4GiB".
func (s *Saving) SetRAM(text string) error {
	s.limited = true
	n, err := place.ParseSize(text)
	s.RAM = uint64(max(n, 0))
	return err
}

// SetRAM reads a size such as "4GiB".
func (o *Restoring) SetRAM(text string) error {
	n, err := place.ParseSize(text)
	o.RAM = uint64(max(n, 0))
	return err
}

// patience is how long commands wait for another process that has the folder.
const patience = 3 * time.Second

// A FolderSaved is what saving wrote.
type FolderSaved struct {
	Tensors int    `json:"tensors"`
	Bytes   uint64 `json:"bytes"`
	Written int    `json:"entries_written"` // of the cache; the others were there
	RAM     int    `json:"ram_tensors"`
	SSD     int    `json:"ssd_tensors"`
	// NotDurable are the tensors that a restore will not find.
	NotDurable []NotDurable `json:"not_durable"`
}

// Save makes a checkpoint of a model's tensors, or of the tensors and gradients
// that the cache has. Bytes that are in the cache already are not written
// again. No tensor is held in memory. Another process that uses the folder is
// waited for, but not long.
func (f *Folder) Save(ctx context.Context, s Saving) (out *FolderSaved, err error) {
	undo := durable.Undo(f.dir, durable.LockFile)
	release, err := Lock(ctx, f.dir, patience)
	if err != nil {
		return nil, err
	}
	defer func() {
		if errors.Is(err, durable.ErrSpace) { // nothing was begun
			undo()
		}
		err = errors.Join(err, release())
	}()
	if _, err := Clean(f.dir, f.cache, nil); err != nil {
		return nil, err
	}
	return f.save(ctx, s)
}

// save is Save under the folder's lock.
func (f *Folder) save(ctx context.Context, s Saving) (*FolderSaved, error) {
	if s.Created == 0 {
		s.Created = uint64(max(0, time.Now().Unix()))
	}
	sv := &saver{f: f, s: s, m: memory.New(memory.Config{Cache: f.cache}), out: &FolderSaved{}}
	source := sv.fromModel
	if s.Model == "" {
		source = sv.fromCache
	}
	err := source(ctx)
	var saved *Saved
	if err == nil {
		saved, err = Save(ctx, f.dir, sv.m, s.Created, SaveOptions{Model: sv.model, Materialize: true, Copy: !s.InPlace, Overwrite: s.Overwrite})
	}
	if sv.files != nil { // its tensors are mapped from them
		err = errors.Join(err, sv.files.Close())
	}
	if err != nil {
		return nil, err
	}
	sv.out.Tensors, sv.out.Written, sv.out.NotDurable = len(saved.Manifest.Entries), saved.Written, append([]NotDurable{}, saved.NotDurable...)
	return sv.out, nil
}

// A saver registers tensors by where their bytes are in the cache.
type saver struct {
	f     *Folder
	s     Saving
	m     *memory.Manager
	out   *FolderSaved
	ram   uint64            // bytes placed in RAM
	files *file.Description // of the model; nil without one
	model *Model            // nil without one
}

func (sv *saver) fromModel(ctx context.Context) error {
	open := func() (*file.Description, error) { return file.Open(sv.s.Model) }
	if filepath.Ext(sv.s.Model) == ".safetensors" {
		open = func() (*file.Description, error) { return file.OpenSafetensors(sv.s.Model) }
	}
	d, err := open()
	if err != nil {
		return err
	}
	sv.files, sv.model = d, ModelOf(d)
	if err := NewWriter(sv.f.dir, sv.f.cache, nil).Fits(sv.missing(d)); err != nil {
		return err
	}
	for i := range d.Tensors {
		for _, t := range d.Tensors[i].Stored() {
			if err := sv.tensor(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the bytes of a model's tensors that the cache has no entries for.
func (sv *saver) missing(d *file.Description) (bytes int64) {
	if sv.s.InPlace {
		return 0
	}
	for i := range d.Tensors {
		for _, t := range d.Tensors[i].Stored() {
			b := (&Entry{ID: t.Name, Bytes: uint64(len(t.View.Data))}).DefaultBlob()
			if !sv.f.cache.Exists(b.Kind, b.Key) {
				bytes += int64(len(t.View.Data))
			}
		}
	}
	return bytes
}

// tensor registers a tensor by where its bytes are in the model's files.
func (sv *saver) tensor(ctx context.Context, t *file.Tensor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := uint64(len(t.View.Data))
	return sv.m.RegisterLazyFile(t.Name, n, sv.place(t.Name, n), memory.Source{Path: PathOf(t), Offset: t.Offset, View: t.View.Data})
}

// place decides where a tensor is: in RAM, or on the SSD when RAM is full.
func (sv *saver) place(id string, n uint64) memory.Tier {
	sv.out.Bytes += n
	at, summary := memory.RAM, ""
	if sv.s.limited {
		summary = fmt.Sprintf("within %s of RAM", spelling.Size(int64(sv.s.RAM)))
		if n > sv.s.RAM-sv.ram {
			at, summary = memory.SSD, fmt.Sprintf("beyond %s of RAM", spelling.Size(int64(sv.s.RAM)))
		}
	}
	if at == memory.RAM {
		sv.ram += n
		sv.out.RAM++
	} else {
		sv.out.SSD++
	}
	want := memory.RAM
	sv.m.SetHint(id, memory.Hint{Desired: &want, Summary: summary, HasSummary: summary != ""})
	return at
}

// fromCache registers what the cache has under the names of tensors and
// gradients.
func (sv *saver) fromCache(ctx context.Context) error {
	var errs []error
	for _, kind := range []blob.Kind{blob.Tensor, blob.Gradient} {
		keys, err := sv.f.cache.Keys(kind)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := ctx.Err(); err != nil {
				return err
			}
			id, n, ok := idOf(kind, key)
			if !ok {
				continue
			}
			if _, twice := sv.m.Tier(id); twice {
				errs = append(errs, fmt.Errorf("%q has several entries in the cache: make the checkpoint of a model, or remove all but one", id))
				continue
			}
			if kind == blob.Gradient {
				sv.m.IndexGradient(id, key)
			}
			if err := sv.m.RegisterLazy(id, n, sv.place(id, n), kind, key); err != nil {
				return err
			}
		}
	}
	if len(sv.m.IDs()) == 0 {
		return fmt.Errorf("%s has no tensors: give a model", sv.f.cache.Root())
	}
	return errors.Join(errs...)
}

// idOf takes a key such as tensor:ID:len3 apart.
func idOf(kind blob.Kind, key string) (id string, n uint64, ok bool) {
	prefix := "tensor:"
	if kind == blob.Gradient {
		prefix = "grad:"
	}
	id, ok = strings.CutPrefix(key, prefix)
	i := strings.LastIndex(id, ":len")
	if !ok || i < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(id[i+len(":len"):], 10, 64)
	return id[:i], n, err == nil
}
