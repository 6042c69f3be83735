package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/spelling"
)

// A place is the state of a run besides arrays: the note of its snapshots. It
// shares no maps or pointers with a snapshot that was read.
type place struct {
	Step    int      `json:"step"`
	Tokens  int64    `json:"tokens"`
	Cursor  string   `json:"cursor"` // of the data
	Counts  []uint64 `json:"counts"` // steps of each parameter
	Skipped int      `json:"skipped"`
	Bad     int      `json:"bad"`            // consecutive skipped steps
	Best    *float64 `json:"best,omitempty"` // lowest loss on held-out data
	Since   int      `json:"since"`          // evaluations without improvement
	Rule    string   `json:"rule"`
	// Recipe is [Config.Recipe]; snapshots of older versions have none.
	Recipe map[string]string `json:"recipe,omitempty"`
}

// same returns an error if a run was begun by another recipe. The place of the run
// that goes on has the recipe from then on.
func (r *run) same(was *place, name string) error {
	if len(was.Recipe) > 0 {
		if s := spelling.Changes(was.Recipe, r.cfg.Recipe); s != "" {
			return fmt.Errorf("%s is of another recipe: %s; restore what was, or train anew in another folder", name, s)
		}
	}
	was.Recipe = r.cfg.Recipe
	return nil
}

// Prefixes of names in a snapshot; parameters have their own names, and these
// precede them for what belongs to a parameter.
const (
	slotPrefix = "slot%d:"
	gradPrefix = "grad:"
	keeperName = "state:"
)

const (
	snapshotFolder = "snapshots"
	snapshotSuffix = ".safetensors"
	bestName       = "best" + snapshotSuffix
)

func snapshotName(step int) string { return fmt.Sprintf("step-%09d%s", step, snapshotSuffix) }

func (r *run) path(name string) string { return filepath.Join(r.cfg.Dir, snapshotFolder, name) }

// arrays returns the content of a snapshot: master parameters, optimizer state,
// and the accumulated gradients of held parameters.
func (r *run) arrays() (as []Array) {
	for i, p := range r.masters {
		as = append(as, Array{Name: p.Name, Shape: p.Shape, Values: p.Value})
		for k, s := range r.opt.State(i) {
			as = append(as, Array{Name: fmt.Sprintf(slotPrefix, k) + p.Name, Shape: p.Shape, Values: s})
		}
	}
	return as
}

// save writes a snapshot under a name.
func (r *run) save(name string) error {
	for i := range r.masters {
		r.place.Counts[i] = r.opt.Steps(i)
	}
	r.place.Cursor = r.source.Cursor()
	note, err := json.Marshal(&r.place)
	if err != nil {
		return err
	}
	as := r.arrays()
	for _, p := range r.params {
		if p.Hold {
			as = append(as, Array{Name: gradPrefix + p.Name, Shape: p.Shape, Values: p.Grad})
		}
	}
	blobs := map[string][]byte{}
	if k, ok := r.learner.(stateKeeper); ok {
		var b bytes.Buffer
		if err := k.Save(&b); err != nil {
			return err
		}
		blobs[keeperName] = b.Bytes()
	}
	err = r.log.sync()
	if err == nil {
		err = WriteSnapshot(r.cfg.FS, r.path(name), string(note), as, blobs)
	}
	if err == nil {
		return nil
	}
	kept := "no snapshot of it is kept"
	if r.saved > 0 {
		kept = fmt.Sprintf("the snapshot of step %d is kept, and --resume goes on there", r.saved)
	}
	return fmt.Errorf("%w at step %d, %s: %w", ErrUnsaved, r.place.Step, kept, err)
}

// saveStep writes a snapshot of the current step, then removes surplus ones.
// If it is killed in between, the next one removes them.
func (r *run) saveStep() error {
	if r.offload != nil {
		return r.log.sync()
	}
	if r.saved == r.place.Step && r.saved > 0 {
		return nil
	}
	if err := r.save(snapshotName(r.place.Step)); err != nil {
		return err
	}
	r.saved = r.place.Step
	names, err := r.snapshots()
	if err != nil {
		return err
	}
	for _, name := range names[min(r.cfg.Keep, len(names)):] {
		if err := r.cfg.FS.Remove(r.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// snapshots returns the names of snapshots, newest first.
func (r *run) snapshots() (names []string, err error) {
	es, err := r.cfg.FS.ReadDir(filepath.Join(r.cfg.Dir, snapshotFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range es {
		if n := e.Name(); strings.HasPrefix(n, "step-") && strings.HasSuffix(n, snapshotSuffix) {
			names = append(names, n)
		}
	}
	slices.Reverse(names)
	return names, nil
}

// resume restores the newest intact snapshot. It returns false if there are
// none.
func (r *run) resume() (bool, error) {
	names, err := r.snapshots()
	if err != nil {
		return false, err
	}
	var errs []error
	for _, name := range names {
		err := r.restore(name)
		if err == nil {
			r.saved = r.place.Step
			return true, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, errSnapshotDamaged) {
			break // a snapshot of another run: older ones are no better
		}
		r.cfg.Watch(Event{Note: fmt.Sprintf("%v; trying the one before", err)})
	}
	if len(errs) > 0 {
		return false, fmt.Errorf("%w: %w", ErrResume, errors.Join(errs...))
	}
	return false, nil
}

// restore restores a snapshot. After an error the run's state is inconsistent
// and must not be used.
func (r *run) restore(name string) (err error) {
	f, err := OpenSnapshot(r.path(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	was := place{}
	if err := json.Unmarshal([]byte(f.Note), &was); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := r.same(&was, name); err != nil {
		return err
	}
	if was.Rule != r.place.Rule || len(was.Counts) != len(r.masters) {
		return fmt.Errorf("%s is of %d parameters stepped by %s; the configuration has %d and %s", name, len(was.Counts), was.Rule, len(r.masters), r.place.Rule)
	}
	for _, a := range r.arrays() {
		if err := f.Read(a); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, p := range r.params {
		clear(p.Grad)
		if f.Has(gradPrefix + p.Name) {
			if err := f.Read(Array{Name: gradPrefix + p.Name, Shape: p.Shape, Values: p.Grad}); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if k, ok := r.learner.(stateKeeper); ok {
		if err := k.Restore(bytes.NewReader(f.Blob(keeperName))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, n := range was.Counts {
		r.opt.SetSteps(i, n)
	}
	if err := r.source.Seek(was.Cursor); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.place = was
	r.round()
	return nil
}
