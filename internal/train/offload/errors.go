package offload

import "errors"

// The kinds of failure, for [errors.Is].
var (
	// ErrConfig is returned for invalid layers, hyperparameters or gradients.
	// Nothing has changed.
	ErrConfig = errors.New("bad training state")
	// ErrFormat is returned for a file that is not a journal, or has an unknown
	// version.
	ErrFormat = errors.New("not a training journal")
	// ErrCorrupt is returned if a file does not match the journal's checksum.
	// Restore a copy: the other versions in the directory are older than the
	// journal's step.
	ErrCorrupt = errors.New("training state is damaged")
	// ErrForeign is returned if another process stepped the state after it was
	// opened here. Open it again.
	ErrForeign = errors.New("training state was stepped by another process")
	// ErrBusy is returned while a step is in progress.
	ErrBusy = errors.New("training state is being stepped")
	// ErrTorn is returned after a step in memory failed halfway: there is no other
	// copy to return to.
	ErrTorn = errors.New("training state in memory is part old, part new")
)
