package decide

import (
	"errors"
	"fmt"
	"io/fs"

	"atenia/internal/store/durable"
)

// Autosave sets when a [Loop] writes its table. Without a path it never does.
type Autosave struct {
	Path         string
	EveryTicks   uint64  // 0: not by ticks
	EverySeconds *uint64 // of the caller's clock; nil: not by time

	FS durable.FS // nil: the operating system's
}

// A store is a table and the time of its last save.
type store struct {
	trainer Trainer
	cfg     Autosave
	dirty   bool   // changed since the last save
	tick    uint64 // of the last save
	seconds uint64
}

// due reports whether a save is due.
func (s *store) due(tick, seconds uint64) bool {
	since := func(now, then uint64) uint64 { return now - min(then, now) }
	return s.cfg.EveryTicks > 0 && since(tick, s.tick) >= s.cfg.EveryTicks ||
		s.cfg.EverySeconds != nil && since(seconds, s.seconds) >= *s.cfg.EverySeconds
}

// try saves if something changed and a save is due, and reports whether it did.
func (s *store) try(tick, seconds uint64) (bool, error) {
	if !s.dirty || s.cfg.Path == "" || !s.due(tick, seconds) {
		return false, nil
	}
	if err := s.Save(); err != nil {
		return false, err
	}
	s.tick, s.seconds = tick, seconds
	return true, nil
}

// Dirty reports whether there are unsaved changes.
func (s *store) Dirty() bool { return s.dirty }

// Save writes the table to the configured path, if any, whether due or not. It
// never destroys foreign data: an unreadable file is left alone, because it may
// be readable later; a file with another header, perhaps of a newer version, or
// with damaged lines is renamed.
func (s *store) Save() error {
	path := s.cfg.Path
	if path == "" {
		return nil
	}
	_, r := load(s.cfg.FS, path)
	if err := keepAside(s.cfg.FS, path, r); err != nil {
		return err
	}
	if err := s.trainer.save(s.cfg.FS, path); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// keepAside prepares the replacement of a file whose loading gave that report.
func keepAside(fsys durable.FS, path string, r Report) error {
	switch {
	case r.Status == StatusUnreadable:
		return fmt.Errorf("%w; remove it to learn anew", r.Err)
	case r.Status == StatusForeign || r.Skipped+r.Damaged > 0:
		if err := moveAside(durable.Default(fsys), path); err != nil {
			return &fileError{ErrIO, path, err}
		}
	}
	return nil
}

// moveAside renames path to the first unused path.bak-n.
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

// load replaces the table by that of a file, which counts as saved.
func (s *store) load(path string) Report {
	t, r := load(s.cfg.FS, path)
	t.DriftPenalty = s.trainer.DriftPenalty
	s.trainer, s.dirty = t, false
	return r
}

// TryAutosave saves if something changed and a save is due, and reports
// whether it did.
func (l *Loop) TryAutosave(seconds uint64) (bool, error) {
	saved, err := l.try(l.state.tick, seconds)
	if saved {
		l.reason = "autosave: wrote learning table"
	}
	return saved, err
}

// LoadLearning replaces the table by that of a file, which counts as saved.
func (l *Loop) LoadLearning(path string) Report { return l.load(path) }
