package atenia

import (
	"context"
	"iter"
	"time"

	"atenia/internal/engine"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/sched"
	"atenia/place"
)

// GenerateN continues a prompt n times and returns the sequences of the answers:
// that of number i is what [Model.Generate] yields with the seed Sampling.Seed+i.
//
// Range over all of them at the same time, each in a goroutine of its own, and the
// prompt is computed once: the answers share its keys and values, as far as there
// are slots for all. Ranged over in turns they are computed in turns.
func (m *Model) GenerateN(ctx context.Context, p Prompt, n int) []iter.Seq2[Token, error] {
	answers := make([]iter.Seq2[Token, error], 0, max(0, n))
	for range n {
		answers = append(answers, m.Generate(ctx, p))
		p.Sampling.Seed++
	}
	return answers
}

// ChatN answers a conversation n times, as [Model.GenerateN] continues a prompt.
func (m *Model) ChatN(ctx context.Context, c Conversation, n int) []iter.Seq2[Token, error] {
	answers := make([]iter.Seq2[Token, error], 0, max(0, n))
	for range n {
		answers = append(answers, m.Chat(ctx, c))
		c.Sampling.Seed++
	}
	return answers
}

// A Decision is what was done with a request, and why: by which rule, what was
// observed, and the limit it was compared with.
type Decision struct {
	Time    time.Time `json:"time"`
	Step    uint64    `json:"step"` // steps of the model before it
	Request string    `json:"request"`
	// Action is "wait", "admit", "reuse" (it begins with keys and values that were
	// there), "preempt" (they were freed for another request and are computed
	// again), "resume", "evict" (what it had left when it ended was freed),
	// "finish", "cancel", "fail", "read" (keys and values are read from the disk) or
	// "compute" (what the disk has is computed); "draft" (drafted tokens are verified)
	// or "plain" (they are not).
	Action string `json:"action"`
	Slot   int    `json:"slot,omitempty"`  // 1 and up; 0 = none
	Other  string `json:"other,omitempty"` // request that it was compared with, continues or made room for
	// Rule is what Observed and Limit count: "slots" that run requests; bytes of
	// "memory"; levels of "priority"; tokens given to its client ("share"); tokens
	// of a "prefix"; steps it waited ("arrival"); bytes kept of ended requests
	// ("room"); tokens of its answer ("stop", "length", "caller", "error");
	// microseconds to read and to compute ("cost"); tokens that could not be read
	// ("damage"); nanoseconds that a token is expected to take with drafts and without
	// ("gain"); drafted tokens ("drafts"); images that the draft model does not see
	// ("drafter"; 0 = there is none, or it failed). "state" has no numbers: the model cannot
	// take rejected tokens back.
	Rule     string `json:"rule"`
	Observed int64  `json:"observed"`
	Limit    int64  `json:"limit"`
	Because  string `json:"because"`           // the numbers as a sentence
	Adapter  string `json:"adapter,omitempty"` // of an admitted request; "" = none
	Drafter  string `json:"drafter,omitempty"` // of a decision about drafts: "the draft model"; "" = look-up

	line string
}

// String returns one line: request, action, rule, numbers.
func (d Decision) String() string { return d.line }

// Why returns what was decided about a request, in order. Give requests an
// [Options].ID to ask for them. The last 4096 decisions about all requests are
// kept; "" returns all of them.
func (m *Model) Why(request string) []Decision {
	var out []Decision
	for _, d := range m.engine.Sched.Why(request) {
		out = append(out, Decision{
			Time: d.Time, Step: d.Step, Request: d.Request, Action: d.Action.String(), Slot: d.Slot, Other: d.Other,
			Rule: d.Rule.String(), Observed: d.Observed, Limit: d.Limit, Because: d.Because(), Adapter: d.Adapter, Drafter: d.Drafter, line: d.String(),
		})
	}
	return out
}

// A RequestStatus is where a request is.
type RequestStatus struct {
	Slot    int    `json:"slot"`    // 1 and up; 0 = it waits for one
	Request string `json:"request"` // "" = the slot was not used yet
	// Phase is "waiting" (for a slot), "reading" (its prompt is computed),
	// "decoding", "stalled" (it waits for memory), or "ended": the slot is free, and
	// keeps what it computed for prompts that begin alike.
	Phase    string `json:"phase"`
	Priority int    `json:"priority"`
	Usage    Usage  `json:"usage"`    // so far
	Computed int    `json:"computed"` // tokens whose keys and values are cached
	Limit    int    `json:"limit"`    // tokens that the answer may have
	Adapter  string `json:"adapter,omitempty"`
}

// Requests returns what each of the model's slots does, by its number, and then the
// requests that wait for one, in the order in which they came. It is as of the last
// step, and does not wait for the one in flight.
func (m *Model) Requests() []RequestStatus {
	var out []RequestStatus
	for _, v := range m.engine.Sched.Status() {
		out = append(out, RequestStatus{
			Slot: v.Slot, Request: v.Request, Phase: v.Phase.String(), Priority: v.Priority,
			Usage: Usage{Prompt: v.Prompt, Cached: v.Cached, Answer: v.Answer}, Computed: v.Computed, Limit: v.Limit, Adapter: v.Adapter,
		})
	}
	return out
}

// request returns the part of a request that its options are about.
func (o *Options) request() (sched.Request, error) {
	if o.Priority < -sched.MaxPriority || o.Priority > sched.MaxPriority {
		return sched.Request{}, &ConfigError{"Priority", o.Priority, "-100 to 100"}
	}
	if o.MaxTokens < 0 {
		return sched.Request{}, &ConfigError{"MaxTokens", o.MaxTokens, "0 or more"}
	}
	draft, err := speculation("Speculate", o.Speculate)
	if err != nil {
		return sched.Request{}, err
	}
	return sched.Request{Speculate: draft, ID: o.ID, Priority: o.Priority, Client: o.Client, Sampling: o.Sampling.internal()}, nil
}

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

// CacheStats returns the counts.
func (m *Model) CacheStats() place.CacheStats {
	c := m.engine.Sched.Cache()
	return place.CacheStats{
		MemoryPrompts: c.MemoryPrompts, MemoryTokens: c.MemoryTokens, DiskPrompts: c.DiskPrompts, DiskTokens: c.DiskTokens,
		DiskFiles: c.Disk.Files, DiskBytes: c.Disk.Bytes, ReadBytes: c.Disk.Read, WrittenBytes: c.Disk.Written, Damaged: c.Disk.Damaged, Failed: c.Disk.Foul,
	}
}

// StepCounts returns what all steps did so far, zero unless [Observation].Counters, a trace or
// metrics were asked for: counting costs every step some time.
func (m *Model) StepCounts() (n place.StepCounts) {
	if c := m.observer.Counters(); c != nil {
		n = place.StepCounts{Dispatches: int64(c.Total()), Launches: int64(c.Launches())}
	}
	return n
}

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

// Checkpoint returns what the model took from its [Config.Checkpoint]; ok is
// false if it was opened without one.
func (m *Model) Checkpoint() (r place.Resumed, ok bool) {
	e := m.engine.Resumed()
	if e == nil {
		return r, false
	}
	return newResumed(e), true
}

func newResumed(e *engine.Resumption) place.Resumed {
	return place.Resumed{
		Dir: e.Dir, Restored: e.Restored, Bytes: e.Bytes, Sequences: e.Sequences, Tokens: e.Tokens, Drift: e.Drift,
		WarmStart: e.WarmStart, Wanted: e.Wanted, Followed: e.Followed, Reused: e.Reused, Leftovers: e.Leftovers, Ignored: e.Ignored, NotDurable: e.NotDurable, Line: e.String(),
	}
}
