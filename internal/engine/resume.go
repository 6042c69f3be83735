package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/model/embedded"
	"atenia/internal/model/file"
	"atenia/internal/policy/decide"
	"atenia/internal/spelling"
	"atenia/internal/store/blob"
)

// A Resumption is what an open model took from its checkpoint.
type Resumption struct {
	Dir       string
	Restored  int   // tensors of the model that the checkpoint knows
	Bytes     int64 // of them
	Sequences int   // conversations whose keys and values can be used again
	Tokens    int   // of them
	Drift     []string
	WarmStart string
	Wanted    int // weights that it wanted in a tier
	Followed  int // of these, as far as the budget allows
	Reused    int // tokens of prompts that were not computed again, so far
	Leftovers int // files and entries of killed saves that were removed
	Ignored   string
	// NotDurable are the tensors of the saved checkpoint whose bytes no restore will
	// find, each with why; known once the engine has stopped.
	NotDurable []string
}

// String returns the resumption in one line.
func (r *Resumption) String() string {
	if r.Restored == 0 && r.Sequences == 0 && r.Ignored == "" {
		return fmt.Sprintf("checkpoint %s: new", r.Dir)
	}
	s := fmt.Sprintf("checkpoint %s: %s, %s, restored lazily", r.Dir, spelling.Count(r.Restored, "tensor"), spelling.Size(r.Bytes))
	if r.Sequences > 0 {
		s += fmt.Sprintf("; %s of %s remembered", spelling.Count(r.Sequences, "conversation"), spelling.Count(r.Tokens, "token"))
	}
	if r.Wanted > 0 {
		s += fmt.Sprintf("; %s; %d of %s in their tier within the budget", r.WarmStart, r.Followed, spelling.Count(r.Wanted, "weight"))
	}
	if len(r.Drift) > 0 {
		s += "; drift: " + strings.Join(r.Drift, ", ")
	}
	if r.Ignored != "" {
		s += "; " + r.Ignored
	}
	return s
}

// A resume is a checkpoint in use by an engine.
type resume struct {
	Resumption
	plan     *Plan
	files    *file.Description
	cache    *blob.Cache
	m        *memory.Manager
	model    *checkpoint.Model            // the one that is open, without sequences
	old      map[string]*checkpoint.Entry // by id
	seqs     []checkpoint.Sequence        // that can be used
	target   map[string]memory.Tier       // by id
	followed map[string]bool              // weights in the tier that the checkpoint wanted
	planned  []checkpoint.Decision        // of the warm start
	reused   atomic.Int64                 // tokens
	lost     atomic.Pointer[[]string]     // NotDurable; nil before a save
	loading  sync.Mutex                   // held while pages are read
	saved    bool                         // no more pages are read: what the cache has is about to change
	cut      map[string]bool              // parts that could not be read
	release  func() error
	stop     context.CancelFunc // ends prefetching
	done     sync.WaitGroup
}

// patience is how long opening waits for another process that has the folder.
const patience = 3 * time.Second

// openCheckpoint locks the checkpoint's folder, removes what killed saves left,
// and restores it lazily, if there is one. It returns nil without a folder.
func (p *Plan) openCheckpoint(ctx context.Context, d *file.Description, rec decide.Recorder, devices func() decide.Devices) (r *resume, err error) {
	dir := p.Config.Checkpoint
	if dir == "" {
		return nil, nil
	}
	r = &resume{plan: p, files: d, old: map[string]*checkpoint.Entry{}, target: map[string]memory.Tier{}, followed: map[string]bool{}, cut: map[string]bool{}, stop: func() {}}
	r.Dir = dir
	release, err := checkpoint.Lock(ctx, dir, patience)
	if err != nil {
		return nil, err
	}
	r.release = release
	defer func() {
		if err != nil {
			err = errors.Join(err, release())
		}
	}()
	if r.cache, err = blob.OpenCache(filepath.Join(dir, "cache"), blob.Config{}); err != nil {
		return nil, err
	}
	left, err := checkpoint.Clean(dir, r.cache, nil)
	if err != nil {
		return nil, err
	}
	r.Leftovers = len(left)
	r.m = memory.New(memory.Config{Cache: r.cache})
	r.model = checkpoint.ModelOf(d, p.Config.Sources...)
	r.model.Path = p.path
	if r.model.State, err = p.stateKey(); err != nil {
		return nil, err
	}
	switch err := r.restore(ctx, rec, devices().Executors()); {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return nil, fmt.Errorf("%w; run without a checkpoint, or save it again into a new folder", err)
	}
	return r, nil
}

// stateKey is what cached keys and values depend on beside the model's files.
func (p *Plan) stateKey() (string, error) {
	id, err := p.Model.Plans.ID()
	return fmt.Sprintf("v1 %s precise=%t%s", id, p.Config.Precise, p.zeros), err
}

// restore registers what the checkpoint has and plans the warm start. A device counts if
// kernels run there.
func (r *resume) restore(ctx context.Context, rec decide.Recorder, on decide.Executors) error {
	saved, err := checkpoint.Read(r.Dir, nil)
	if err != nil {
		return err
	}
	if err := r.check(saved); err != nil {
		return err
	}
	got, err := checkpoint.Restore(ctx, r.Dir, r.m, checkpoint.RestoreOptions{Lazy: true, GPU: on.GPU})
	if err != nil {
		return err
	}
	warm := rec.WarmStart(r.m, got.Manifest.Entries, got.Reports, on.GPU, checkpoint.DefaultRules)
	warm.ApplySummaries(r.m.SetHint)
	r.planned = warm.Decisions
	r.WarmStart = strings.Replace(warm.Summary, ":", "", 1)
	for _, d := range warm.Decisions {
		if d.To != nil {
			r.target[d.ID] = *d.To
		} else if d.Desired != nil {
			r.target[d.ID] = *d.Desired
		}
	}
	for i := range got.Manifest.Entries {
		e := &got.Manifest.Entries[i]
		r.old[e.ID] = e
		if _, ok := r.files.Tensor(e.ID); ok {
			r.Restored++
			r.Bytes += int64(e.Bytes)
		}
	}
	r.drift(got.Reports)
	r.sequences(got.Manifest.Model)
	return nil
}

// check refuses a checkpoint of another model.
func (r *resume) check(saved *checkpoint.Manifest) error {
	refuse := func(format string, args ...any) error {
		return &checkpoint.Error{Kind: checkpoint.ErrOther, Path: r.Dir, Why: fmt.Sprintf(format, args...) + ": name another folder for this model"}
	}
	if m := saved.Model; m != nil {
		if !m.Same(r.model) {
			return refuse("it is of %s as it was when it was saved, not of %s as it is now", m.Path, r.plan.path)
		}
		return nil
	}
	for i := range saved.Entries {
		e := &saved.Entries[i]
		if t, ok := r.files.Tensor(e.ID); ok {
			if n := uint64(len(t.View.Data)); n != e.Bytes {
				return refuse("its tensor %s has %d bytes, that of %s %d", e.ID, e.Bytes, r.plan.path, n)
			}
			return nil
		}
	}
	if len(saved.Entries) > 0 {
		return refuse("none of its tensors is one of %s", r.plan.path)
	}
	return nil
}

// drift counts what could not be restored as it was saved.
func (r *resume) drift(reports []checkpoint.Report) {
	count, first := map[checkpoint.DriftKind]int{}, map[checkpoint.DriftKind]string{}
	for _, rep := range reports {
		for _, d := range rep.Drifts {
			if count[d.Kind]++; count[d.Kind] == 1 {
				first[d.Kind] = d.String()
			}
		}
	}
	for _, k := range []checkpoint.DriftKind{checkpoint.MissingBackend, checkpoint.TierDowngrade, checkpoint.PlanMismatch} {
		if n := count[k]; n > 0 {
			r.Drift = append(r.Drift, fmt.Sprintf("%s (%s)", first[k], spelling.Count(n, "tensor")))
		}
	}
}

// sequences takes the conversations that this model continues with the same
// bits.
func (r *resume) sequences(m *checkpoint.Model) {
	switch {
	case m == nil || len(m.Sequences) == 0:
		return
	case m.Written != r.model.Written:
		r.Ignored = "the model's files were written since, so its conversations are computed again"
		return
	case m.State != r.model.State:
		r.Ignored = "its conversations were computed with other settings or another plan, so they are computed again"
		return
	}
	r.seqs = m.Sequences
	for _, s := range r.seqs {
		r.Sequences++
		r.Tokens += len(s.Tokens)
	}
}

// hint adds to the rules of a placement what the checkpoint wants, as far as the
// budget allows: the first weights of a pass first. Rules of the user come
// before it.
func (r *resume) hint(p *Plan, c *PlaceConfig) {
	if r == nil || len(r.target) == 0 || c.File != "" || c.Budget.RAM == 0 {
		return
	}
	var wanted []*place.Tensor
	for i := range p.footprint.tensors {
		t := &p.footprint.tensors[i]
		if _, ok := r.tierOf(p, t.Name); ok {
			wanted = append(wanted, t)
		}
	}
	rules := func(n int) place.Rules {
		out := c.Rules
		names := map[memory.Tier][]string{}
		for _, t := range wanted[:n] {
			at, _ := r.tierOf(p, t.Name)
			names[at] = append(names[at], t.Name)
		}
		out.Pins = slices.Clone(out.Pins)
		for _, at := range []memory.Tier{memory.RAM, memory.SSD} {
			if len(names[at]) > 0 {
				out.Pins = append(out.Pins, fmt.Sprintf("^(?:%s)$=%s", quoted(names[at]), at.Lower()))
			}
		}
		return out
	}
	fits := func(n int) bool {
		try := *c
		try.Rules, try.Measure = rules(n), nil
		_, err := p.footprint.Place(try)
		return err == nil
	}
	r.Wanted = len(wanted)
	if r.Followed = r.Wanted; !fits(r.Followed) {
		low, high := 0, r.Wanted // low fits, high does not
		for high-low > 1 {
			if mid := (low + high) / 2; fits(mid) {
				low = mid
			} else {
				high = mid
			}
		}
		r.Followed = low
	}
	if r.Followed > 0 {
		c.Rules = rules(r.Followed)
	}
	for _, t := range wanted[:r.Followed] {
		r.followed[t.Name] = true
	}
}

// tierOf returns the tier that the checkpoint wants a weight in: the slowest of
// those of the tensors that it is made of.
func (r *resume) tierOf(p *Plan, weight string) (t memory.Tier, ok bool) {
	for _, id := range p.Model.Weights[weight].Sources {
		at, known := r.target[id]
		if !known || at != memory.RAM && at != memory.SSD {
			return 0, false
		}
		if !ok || at == memory.SSD {
			t, ok = at, true
		}
	}
	return t, ok
}

// prefetch reads the weights that are mapped and wanted in RAM, in the order in
// which a pass needs them, while the first pass runs. A weight that is needed
// before its turn is read by the pass.
func (r *resume) prefetch(w *modelWeights, mode pack.Mode, room int64) {
	if r == nil || r.Restored == 0 || w.Held > 0 || w.Streamed > 0 || mode == pack.OnDisk || r.plan.path == embedded.Name {
		return
	}
	var ids []string
	for _, id := range r.order() {
		t, _ := r.files.Tensor(id)
		if room -= int64(len(t.View.Data)); r.target[id] != memory.RAM || room < 0 {
			continue
		}
		src := memory.Source{Path: checkpoint.PathOf(t), Offset: t.Offset, View: t.View.Data}
		if r.m.RegisterLazyFile(id, uint64(len(t.View.Data)), memory.RAM, src) == nil {
			ids = append(ids, id)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.done.Go(func() {
		if err := checkpoint.Materialize(ctx, r.m, ids); err != nil && ctx.Err() == nil {
			r.plan.Config.Logger.Warn("prefetch of a checkpoint", "err", err)
		}
	})
}

// order returns the names of the model's tensors in the order in which a pass
// first needs them.
func (r *resume) order() (ids []string) {
	seen := map[string]bool{}
	for i := range r.plan.footprint.tensors {
		for _, id := range r.plan.Model.Weights[r.plan.footprint.tensors[i].Name].Sources {
			if t, ok := r.files.Tensor(id); ok && !t.Made() && !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// close stops prefetching and unlocks the folder.
func (r *resume) close() error {
	if r == nil {
		return nil
	}
	r.stop()
	r.done.Wait()
	h := r.m.Health()
	for _, f := range slices.Concat(h.Persistent, h.Leftovers) {
		r.plan.Config.Logger.Warn("a copy in the checkpoint's cache", "tensor", f.ID, "err", f.Err, "failed", h.PersistentErrors)
	}
	return r.release()
}
