package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"atenia/grad"
	files "atenia/internal/train/offload"
	"atenia/tensor"
)

// An offloaded keeps a run's master parameters and moments in files. Their journal
// includes the run's position, so that every step is durable without snapshots.
type offloaded struct {
	state  *files.State
	groups []group
	buf    []float32 // gradients of the largest group
}

// A group is the parameters in one layer of the files, contiguous: those of a
// block with weight decay, or those without.
type group struct {
	files.Layer
	params []*Param
}

const stateFolder = "state"

// inMemory reports whether the run that should be resumed was in memory.
func (r *run) inMemory() (bool, error) {
	names, err := r.snapshots()
	return r.cfg.Resume && len(names) > 0, err
}

// openOffload opens the files of an earlier process, or creates them.
func (r *run) openOffload(ctx context.Context) (*offloaded, error) {
	if _, ok := r.learner.(stateKeeper); ok {
		return nil, fmt.Errorf("%w: this kind of model keeps more than parameters and cannot be offloaded", ErrConfig)
	}
	if in, err := r.inMemory(); err != nil || in {
		return nil, errors.Join(err, fmt.Errorf("%w: optimizer.offload is true and was false: %s has snapshots of a run in memory", ErrResume, r.cfg.Dir))
	}
	o := &offloaded{groups: groups(r.params)}
	most := 0
	for _, g := range o.groups {
		most = max(most, g.Elements)
	}
	o.buf = make([]float32, most)
	err := r.openState(ctx, o, func(layer, offset int, dst []float32) error {
		o.groups[layer].copyTo(o.buf, func(p *Param) []float32 { return p.Value })
		copy(dst, o.buf[offset:])
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, o.load(ctx)
}

// openState opens the files of the groups, or creates them with first values.
func (r *run) openState(ctx context.Context, o *offloaded, first files.Init) error {
	layers, model := make([]files.Layer, len(o.groups)), int64(0)
	for i, g := range o.groups {
		layers[i] = g.Layer
		model += 4 * int64(g.Elements)
	}
	rule := grad.AdamW{}
	if a, ok := r.cfg.Rule.(grad.AdamW); ok {
		rule = a
	}
	cfg := files.Config{FS: r.cfg.FS, Beside: model + r.cfg.Beside, Optimizer: files.Optimizer{
		Beta1: float32(rule.Beta1), Beta2: float32(rule.Beta2), Epsilon: float32(rule.Epsilon), Decay: float32(rule.Decay),
	}}
	if p := r.cfg.Paging; p != nil {
		cfg.ChunkBytes = p.ChunkBytes
	}
	dir := filepath.Join(r.cfg.Dir, stateFolder)
	var err error
	if cfg.Note, err = r.place.note(); err != nil { // the first values are of this recipe, too
		return err
	}
	if r.cfg.Resume {
		if o.state, err = files.Open(dir, cfg); err == nil {
			err = o.state.Verify(ctx) // damage is found now and not in the middle of a step
		}
	}
	switch {
	case o.state == nil && (err == nil || errors.Is(err, fs.ErrNotExist)):
		if r.cfg.Resume {
			r.noteAnew()
		}
		if r.cfg.Overwrite {
			if err := files.Fits(dir, layers, cfg); err != nil {
				return err
			}
			if err := r.removeFolder(dir); err != nil {
				return err
			}
		}
		o.state, err = files.Create(ctx, dir, layers, cfg, func(layer, offset int, dst []float32) error {
			if layer == 0 && offset == 0 { // the first; the disk has room
				if err := r.cfg.Ready(); err != nil {
					return err
				}
			}
			return first(layer, offset, dst)
		})
		if err != nil {
			return err
		}
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", ErrResume, err)
	default:
		if err := r.restorePlace(o, layers); err != nil {
			return fmt.Errorf("%w: %w", ErrResume, err)
		}
		return r.cfg.Ready()
	}
	return nil
}

// removeFolder removes the files of an earlier run.
func (r *run) removeFolder(dir string) error {
	es, err := r.cfg.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range es {
		if e.IsDir() {
			err = errors.Join(err, r.removeFolder(filepath.Join(dir, e.Name())))
		}
		err = errors.Join(err, r.cfg.FS.Remove(filepath.Join(dir, e.Name())))
	}
	return err
}

// restorePlace restores the position of the step that the files are at.
func (r *run) restorePlace(o *offloaded, layers []files.Layer) error {
	got := o.state.Layers()
	same := len(got) == len(layers)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == layers[i]
	}
	if !same {
		return fmt.Errorf("the files in %s are of another model", stateFolder)
	}
	if o.state.Note() == "" { // of an older version, before the first step
		return nil
	}
	was := place{}
	if err := json.Unmarshal([]byte(o.state.Note()), &was); err != nil {
		return err
	}
	if err := r.same(&was, stateFolder); err != nil {
		return err
	}
	if err := r.source.Seek(was.Cursor); err != nil {
		return err
	}
	r.place = was
	return nil
}

// groups groups the parameters of one block, by the number in their names, in
// the order of their first members.
func groups(params []*Param) (gs []group) {
	at := map[string]int{}
	for _, p := range params {
		noDecay := p.NoDecay || len(p.Shape) < 2
		key := blockOf(p.Name)
		if noDecay {
			key += " (no decay)"
		}
		i, ok := at[key]
		if !ok {
			i = len(gs)
			at[key] = i
			gs = append(gs, group{Layer: files.Layer{Name: key, NoDecay: noDecay}})
		}
		gs[i].params = append(gs[i].params, p)
		gs[i].Elements += length(p)
	}
	return gs
}

// blockOf returns a name up to its first number, such as "model.layers.3", or up
// to its last dot.
func blockOf(name string) string {
	parts := strings.Split(name, ".")
	for i, s := range parts {
		if s != "" && strings.Trim(s, "0123456789") == "" {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return strings.Join(parts[:max(1, len(parts)-1)], ".")
}

// copyTo copies what f returns for each parameter to dst, contiguously, and
// returns the filled part of dst.
func (g *group) copyTo(dst []float32, f func(*Param) []float32) []float32 {
	n := 0
	for _, p := range g.params {
		n += copy(dst[n:], f(p))
	}
	return dst[:n]
}

// gradients yields those of the learner, group by group.
func (o *offloaded) gradients(yield func(files.Gradient, error) bool) {
	for i, g := range o.groups {
		for _, p := range g.params {
			if p.Hold {
				yield(files.Gradient{}, fmt.Errorf("%w: %s is held back, which offloaded state cannot do", ErrConfig, p.Name))
				return
			}
		}
		if !yield(files.Gradient{Layer: i, Values: g.copyTo(o.buf, func(p *Param) []float32 { return p.Grad })}, nil) {
			return
		}
	}
}

// stepFiles steps the files.
func (r *run) stepFiles(ctx context.Context, rate, scale float64) error {
	r.place.Cursor = r.source.Cursor()
	note, err := r.place.note()
	if err != nil {
		return err
	}
	o, grads := r.offload, iter.Seq2[files.Gradient, error](r.offload.gradients)
	if r.pager != nil {
		grads = r.pager.Gradients()
	}
	began := time.Now()
	rep, err := o.state.Step(ctx, grads, files.Update{LR: float32(rate), Scale: float32(scale), Note: note})
	if err != nil {
		return err
	}
	r.moved += int64(rep.ReadBytes + rep.WrittenBytes)
	r.waited += time.Since(began)
	if r.pager != nil {
		r.moved, r.waited = r.moved+r.pager.Moved, r.waited+r.pager.Waited
		r.pager.Moved, r.pager.Waited = 0, 0
		for _, why := range r.pager.Failures() {
			r.cfg.Watch(Event{Note: "a gradient was read where it is: " + why})
		}
		if r.paused.Batches > 0 {
			return r.unpause()
		}
		return nil
	}
	return o.load(ctx)
}

// load copies the parameters of the files to the learner.
func (o *offloaded) load(ctx context.Context) error {
	for got, err := range o.state.Params(ctx) {
		if err != nil {
			return err
		}
		b := got.Values
		for _, p := range o.groups[got.Layer].params {
			for k := range p.Value {
				p.Value[k] = tensor.BF16ToF32(uint16(b[2*k]) | uint16(b[2*k+1])<<8)
			}
			b = b[2*len(p.Value):]
		}
	}
	return nil
}
