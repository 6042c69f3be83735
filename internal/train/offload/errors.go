package offload

import "errors"

// The kinds of failure, for [errors.Is].
var (
	// errConfig is returned for invalid layers, hyperparameters or gradients.
	// Nothing has changed.
	errConfig = errors.New("bad training state")
	// errFormat is returned for a file that is not a journal, or has an unknown
	// version.
	errFormat = errors.New("not a training journal")
	// errCorrupt is returned if a file does not match the journal's checksum.
	// Restore a copy: the other versions in the directory are older than the
	// journal's step.
	errCorrupt = errors.New("training state is damaged")
	// errForeign is returned if another process stepped the state after it was
	// opened here. Open it again.
	errForeign = errors.New("training state was stepped by another process")
	// errBusy is returned while a step is in progress.
	errBusy = errors.New("training state is being stepped")
	// errTorn is returned after a step in memory failed halfway: there is no other
	// copy to return to.
	errTorn = errors.New("training state in memory is part old, part new")
)
