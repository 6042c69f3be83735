package engine

import (
	"fmt"
	"sync"

	"atenia/internal/exec"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/model/file"
	"atenia/internal/sched"
	"atenia/internal/store/blob"
)

// sequenceKey returns what keys and values of the model depend on beside the tokens: its
// files and the adapter's, the plan with the types and sizes of its states, the settings
// that round differently, and which kernels this machine has.
func (e *Engine) sequenceKey(d *file.Description) func() sched.Key {
	return sync.OnceValue(func() sched.Key {
		m := checkpoint.ModelOf(d, e.Plan.Config.Sources...)
		state, err := e.Plan.stateKey()
		if err != nil { // a plan that runs has an ID
			panic(err)
		}
		return sched.Key(blob.HashOf(fmt.Appendf(nil, "%s %s %q %s", m.Content, m.Written, state, exec.Kernels())))
	})
}

// openDisk says what files of keys and values are of, and opens the folder of those that left
// memory, if one is configured.
func (e *Engine) openDisk(d *file.Description) (err error) {
	e.diskKey = e.sequenceKey(d)
	if c := &e.Plan.Config; c.CacheDir != "" {
		if e.disk, err = sched.OpenFolder(c.CacheDir, c.CacheDisk, e.diskKey()); err != nil {
			return fmt.Errorf("folder of cached keys and values: %w", err)
		}
	}
	return nil
}

func (e *Engine) closeDisk() error {
	if e.disk == nil {
		return nil
	}
	return e.disk.Close()
}

// Kinds of errors about such files.
var (
	ErrSlot          = sched.ErrSlot
	ErrSlotFile      = sched.ErrDamaged
	ErrSlotFileOther = sched.ErrOther
)
