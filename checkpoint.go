package atenia

import (
	"context"

	"atenia/internal/vault"
	"atenia/tier/hw"
)

// A Checkpoint is a folder that remembers where tensors were, and their bytes.
type Checkpoint = vault.Folder

// What a checkpoint is made of, and how it is restored.
type (
	CheckpointSaving    = vault.Saving
	CheckpointRestoring = vault.Restoring
)

// OpenCheckpoint opens the folder of a checkpoint, which need not be there yet.
// cache is the folder of the bytes, "" = inside; gpu says whether there is a
// device to restore to, nil = what this machine has.
func OpenCheckpoint(ctx context.Context, dir, cache string, gpu *bool) (*Checkpoint, error) {
	if gpu == nil {
		list, err := devices{}.Devices(ctx, hw.None)
		gpu = new(err == nil && len(list) > 0) // a driver that fails has none to restore to
	}
	return vault.Open(dir, cache, *gpu)
}
