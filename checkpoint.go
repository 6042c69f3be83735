package atenia

import (
	"atenia/internal/engine"
	"atenia/internal/memory/checkpoint"
)

// Kinds of failure of a [Config.Checkpoint], for [errors.Is].
var (
	// ErrCheckpointBusy says that another process uses the folder.
	ErrCheckpointBusy = checkpoint.ErrBusy
	// ErrCheckpointOther says that a checkpoint is of another model, or of this
	// one before its files were changed. The folder is left as it is.
	ErrCheckpointOther = checkpoint.ErrOther
	// ErrCheckpointDamaged says that files of a checkpoint are cut or changed.
	ErrCheckpointDamaged = checkpoint.ErrInvalidFormat
)

// A Resumed says what an open model took from its [Config.Checkpoint].
type Resumed struct {
	Dir       string   // the folder
	Restored  int      // tensors of the model that the checkpoint has
	Bytes     int64    // of them; they are read when they are first needed
	Sequences int      // conversations that can be continued without computing them again
	Tokens    int      // of them
	Drift     []string // what is not as it was saved, such as a device that is missing
	WarmStart string   // how many tensors stay, are wanted in faster memory, or in slower
	Wanted    int      // weights that the checkpoint wants in a tier of memory
	Followed  int      // of these, as far as the budget allows
	Reused    int      // tokens of prompts that were not computed again, so far
	Leftovers int      // files that killed processes had left, and that were removed
	Ignored   string   // what was not used, and why; "" if all was

	text string
}

// String is one line.
func (r Resumed) String() string { return r.text }

// Checkpoint returns what the model took from its [Config.Checkpoint]; ok is
// false if it was opened without one.
func (m *Model) Checkpoint() (r Resumed, ok bool) {
	e := m.engine.Resumed()
	if e == nil {
		return r, false
	}
	return newResumed(e), true
}

func newResumed(e *engine.Resumption) Resumed {
	return Resumed{
		Dir: e.Dir, Restored: e.Restored, Bytes: e.Bytes, Sequences: e.Sequences, Tokens: e.Tokens, Drift: e.Drift,
		WarmStart: e.WarmStart, Wanted: e.Wanted, Followed: e.Followed, Reused: e.Reused, Leftovers: e.Leftovers, Ignored: e.Ignored, text: e.String(),
	}
}
