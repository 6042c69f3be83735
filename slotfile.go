package atenia

import (
	"context"

	"atenia/internal/engine"
)

// Kinds of failure of [Model.SaveSlot], [Model.RestoreSlot] and [Model.EraseSlot], for
// [errors.Is].
var (
	// ErrSlot says that there is no such slot, that it computes a request and can be neither
	// restored into nor erased, or that it has nothing that can be saved.
	ErrSlot = engine.ErrSlot
	// ErrSlotFile says that a file is cut, changed, or no file of a slot. The error's text
	// has the offset of what is wrong.
	ErrSlotFile = engine.ErrSlotFile
	// ErrSlotFileOther says that a file was saved by another model, or by this one with
	// another adapter, [Config].CacheType, PageTokens or Precise, or before the model's
	// files were written again.
	ErrSlotFileOther = engine.ErrSlotFileOther
)

// A SlotFile says what [Model.SaveSlot] wrote or [Model.RestoreSlot] read.
type SlotFile struct {
	Slot   int   // 1 and up
	Tokens int   // whose keys and values the file has
	Bytes  int64 // of the file
}

// SaveSlot writes what a slot has computed to a file: its tokens, and their keys and
// values or whatever state the model keeps of them. [Model.Requests] lists the slots; 0
// is the one that was used last, so that after an answer a program can save the
// conversation.
//
// The file is written under a temporary name and renamed when it is on the disk; its mode
// is 0600, because the tokens are the text of prompts and answers. It can be restored by
// the same build on the same kind of processor, with the same model, the same
// [Config].Adapter and the same settings. A slot that computes a request is saved as it is
// between two steps. Sequences with images or with an adapter of [Config].Adapters cannot
// be saved: that, a slot that does not exist, one that is empty or one that waits for
// memory are [ErrSlot].
//
//	for t, err := range m.Chat(ctx, c) { … }
//	m.SaveSlot(ctx, 0, "conversation.kv")
func (m *Model) SaveSlot(ctx context.Context, slot int, path string) (SlotFile, error) {
	f, err := m.engine.Sched.SaveSlot(ctx, slot, path)
	return SlotFile(f), err
}

// RestoreSlot reads a file that [Model.SaveSlot] wrote into an idle slot; 0 is the one with
// the shortest sequence. A prompt that begins with its tokens goes on from there, with the
// same results as if they were computed again. What the slot had before is treated as if
// the slot had been given to a request: from 16 tokens on it is kept within
// [Config].KeepBytes.
//
// A file that is damaged is [ErrSlotFile], one of another model or other settings
// [ErrSlotFileOther], one with more tokens than the context a [*ContextError], and one that
// does not exist [io/fs.ErrNotExist]. The slot then has what it had, unless memory
// was short: room for the file's pages is made before these are read, by evicting what
// idle slots and ended requests keep. A slot that computes a request is [ErrSlot].
func (m *Model) RestoreSlot(ctx context.Context, slot int, path string) (SlotFile, error) {
	f, err := m.engine.Sched.RestoreSlot(ctx, slot, path)
	return SlotFile(f), err
}

// EraseSlot forgets what an idle slot has computed, 0 = the one used last, and returns of
// how many tokens that was. A slot that computes a request is [ErrSlot].
func (m *Model) EraseSlot(slot int) (tokens int, err error) { return m.engine.Sched.EraseSlot(slot) }

// CacheStats counts, since the model was opened, how much of prompts was not computed for
// them because their beginnings had been.
type CacheStats struct {
	MemoryPrompts int64 `json:"memory_prompts"` // prompts that began with keys and values in memory
	MemoryTokens  int64 `json:"memory_tokens"`  // of them, tokens that were not computed
	DiskPrompts   int64 `json:"disk_prompts"`   // prompts that began with keys and values read from [Config].CacheDir
	DiskTokens    int64 `json:"disk_tokens"`
	DiskFiles     int64 `json:"disk_files"` // in the folder, of all models; what other processes did since it was listed is left out
	DiskBytes     int64 `json:"disk_bytes"`
	ReadBytes     int64 `json:"read_bytes"`
	WrittenBytes  int64 `json:"written_bytes"`
	Damaged       int64 `json:"damaged"` // files that were removed because they were damaged
	Failed        int64 `json:"failed"`  // times that writing failed, such as with a full disk
}

// CacheStats returns the counts.
func (m *Model) CacheStats() CacheStats {
	c := m.engine.Sched.Cache()
	return CacheStats{
		c.MemoryPrompts, c.MemoryTokens, c.DiskPrompts, c.DiskTokens,
		c.Disk.Files, c.Disk.Bytes, c.Disk.Read, c.Disk.Written, c.Disk.Damaged, c.Disk.Foul,
	}
}
