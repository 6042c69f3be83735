package learn

import (
	"errors"
	"fmt"
	"io/fs"

	"atenia/internal/durable"
)

// Autosave says when a [Loop] writes its table. Without a path it never does.
type Autosave struct {
	Path         string
	EveryTicks   uint64  // 0: ticks do not matter
	EverySeconds *uint64 // of the caller's clock; nil: seconds do not matter

	FS durable.FS // nil: the operating system's
}

// saveMarks are when the table was saved last.
type saveMarks struct{ tick, seconds uint64 }

// due reports whether a save is due.
func (a *Autosave) due(m saveMarks, tick, seconds uint64) bool {
	since := func(now, then uint64) uint64 { return now - min(then, now) }
	return a.EveryTicks > 0 && since(tick, m.tick) >= a.EveryTicks ||
		a.EverySeconds != nil && since(seconds, m.seconds) >= *a.EverySeconds
}

// TryAutosave saves if something changed and a save is due, and reports
// whether it did.
func (l *Loop) TryAutosave(seconds uint64) (bool, error) {
	if !l.dirty || l.cfg.Path == "" || !l.cfg.due(l.saved, l.state.tick, seconds) {
		return false, nil
	}
	if err := l.save(); err != nil {
		return false, err
	}
	l.saved = saveMarks{l.state.tick, seconds}
	l.reason = "autosave: wrote learning table"
	return true, nil
}

// Save writes the table to the path of the configuration now, due or not.
func (l *Loop) Save() error {
	if l.cfg.Path == "" {
		return nil
	}
	return l.save()
}

// save writes the table without destroying what another program wrote: a file
// that cannot be read may be good again tomorrow, so it is left alone; one with
// another first line, perhaps of a newer version, moves aside.
func (l *Loop) save() error {
	path := l.cfg.Path
	switch _, r := load(l.cfg.FS, path); r.Status {
	case StatusUnreadable:
		return fmt.Errorf("%w; remove it to learn anew", r.Err)
	case StatusForeign:
		if err := moveAside(durable.Default(l.cfg.FS), path); err != nil {
			return &FileError{ErrIO, path, err}
		}
	}
	if err := l.trainer.save(l.cfg.FS, path); err != nil {
		return err
	}
	l.dirty = false
	return nil
}

// moveAside renames path to the first free path.bak-n.
func moveAside(fsys durable.FS, path string) error {
	const most = 10_000
	for n := 1; n <= most; n++ {
		bak := fmt.Sprintf("%s.bak-%d", path, n)
		if _, err := fsys.Stat(bak); errors.Is(err, fs.ErrNotExist) {
			return fsys.Rename(path, bak)
		}
	}
	return fmt.Errorf("all of %s.bak-1 to %d are taken", path, most)
}

// LoadLearning replaces the table with that of a file, which counts as saved.
func (l *Loop) LoadLearning(path string) Report {
	t, r := load(l.cfg.FS, path)
	t.DriftPenalty = l.trainer.DriftPenalty
	l.trainer, l.dirty = t, false
	return r
}
