package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"atenia/grad"
	files "atenia/internal/train/offload"
	"atenia/tensor"
)

// An offload keeps a run's master parameters and moments in files. Their journal
// includes the run's position, so that every step is durable without snapshots.
type offload struct {
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

// openOffload opens the files of an earlier process, or creates them.
func (r *run) openOffload(ctx context.Context) (*offload, error) {
	if _, ok := r.learner.(Keeper); ok {
		return nil, fmt.Errorf("%w: this kind of model keeps more than parameters and cannot be offloaded", ErrConfig)
	}
	o := &offload{groups: groups(r.params)}
	most := 0
	layers := make([]files.Layer, len(o.groups))
	for i, g := range o.groups {
		layers[i], most = g.Layer, max(most, g.Elements)
	}
	o.buf = make([]float32, most)
	rule := grad.AdamW{}
	if a, ok := r.cfg.Rule.(grad.AdamW); ok {
		rule = a
	}
	cfg := files.Config{FS: r.cfg.FS, Optimizer: files.Optimizer{
		Beta1: float32(rule.Beta1), Beta2: float32(rule.Beta2), Epsilon: float32(rule.Epsilon), Decay: float32(rule.Decay),
	}}
	dir := filepath.Join(r.cfg.Dir, stateFolder)
	var err error
	if r.cfg.Resume {
		o.state, err = files.Open(dir, cfg)
	}
	switch {
	case o.state == nil && (err == nil || errors.Is(err, fs.ErrNotExist)):
		if o.state, err = r.createOffload(dir, cfg, o, layers); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrResume, err)
	default:
		if err := r.restorePlace(o, layers); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrResume, err)
		}
	}
	return o, o.load(ctx)
}

// createOffload creates the files from the learner's parameters.
func (r *run) createOffload(dir string, cfg files.Config, o *offload, layers []files.Layer) (*files.State, error) {
	if r.cfg.Overwrite {
		if err := r.removeFolder(dir); err != nil {
			return nil, err
		}
	}
	return files.Create(dir, layers, cfg, func(layer, offset int, dst []float32) error {
		o.groups[layer].copyTo(o.buf, func(p *Param) []float32 { return p.Value })
		copy(dst, o.buf[offset:])
		return nil
	})
}

func (r *run) removeFolder(dir string) error {
	es, err := r.cfg.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range es {
		err = errors.Join(err, r.cfg.FS.Remove(filepath.Join(dir, e.Name())))
	}
	return err
}

// restorePlace restores the position of the step that the files are at.
func (r *run) restorePlace(o *offload, layers []files.Layer) error {
	got := o.state.Layers()
	same := len(got) == len(layers)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == layers[i]
	}
	if !same {
		return fmt.Errorf("the files in %s are of another model", stateFolder)
	}
	if o.state.Steps() == 0 {
		return nil
	}
	was := place{}
	if err := json.Unmarshal([]byte(o.state.Note()), &was); err != nil {
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
		gs[i].Elements += len(p.Value)
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

// step steps the files.
func (o *offload) step(ctx context.Context, rate, scale float64, at *place) error {
	note, err := at.note()
	if err != nil {
		return err
	}
	grads := func(yield func(files.Gradient, error) bool) {
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
	// A step in progress is completed; the caller checks the context afterwards.
	ctx = context.WithoutCancel(ctx)
	if _, err := o.state.Step(ctx, grads, files.Update{LR: float32(rate), Scale: float32(scale), Note: note}); err != nil {
		return err
	}
	return o.load(ctx)
}

// load copies the parameters of the files to the learner.
func (o *offload) load(ctx context.Context) error {
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
