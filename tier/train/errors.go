package train

import "errors"

// The kinds of failure, for [errors.Is].
var (
	// ErrConfig: layers, numbers or gradients that cannot be. Nothing changed.
	ErrConfig = errors.New("bad training state")
	// ErrFormat: the journal is not one, or its version is unknown.
	ErrFormat = errors.New("not a training journal")
	// ErrCorrupt: a file does not hold what the journal says. Go back to a
	// copy; the state's other versions are older than the journal's step.
	ErrCorrupt = errors.New("training state is damaged")
	// ErrForeign: another process stepped the state since it was opened here.
	// Open it again.
	ErrForeign = errors.New("training state was stepped by somebody else")
	// ErrBusy: a step is under way.
	ErrBusy = errors.New("training state is being stepped")
	// ErrTorn: a step in memory failed half way, and there was no other copy.
	ErrTorn = errors.New("training state in memory is part old, part new")
)
