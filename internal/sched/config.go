package sched

import (
	"time"

	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/kv"
	"atenia/internal/store/sequence"
)

// A Config sizes a scheduler. The zero value works.
type Config struct {
	Slots      int   // concurrent sequences; 0 = 4
	CacheBytes int64 // memory for keys and values of all states; 0 = no limit
	// KeepBytes is how much of it ended requests may keep whose slots were given to
	// others; 0 = 256 MiB, at most half of CacheBytes; negative = nothing.
	KeepBytes int64
	// Account is what keys and values are reserved in.
	Account *ledger.Account
	// Watch, if not nil, is called after every step, before the next one.
	Watch func(StepInfo)
	// Between, if not nil, is called between two steps, and about every
	// 200 ms while there are none, with what it may do. It must be quick.
	Between func(*Pause)
	// PromptRows is the most rows of prompts in a step that also has rows of answers;
	// 0 = so many that the step takes at most about twice as long as without them.
	PromptRows int
	// Tune, if not nil, is called before every step with its rows and whether it
	// only decodes, and returns how many threads compute it; 0 = all.
	Tune func(rows int, decode bool) (threads int)
	// SnapshotTokens is after how many tokens the states of a sequence are copied
	// that keep no positions apart (recurrent layers), so that another request may
	// continue there; 0 = 256. Snapshots is how many copies a sequence keeps; 0 =
	// 4, negative = none. A copy is also taken before the last token of a prompt.
	SnapshotTokens, Snapshots int
	// Intact, if not nil, is asked when a request begins and when it ends. Its error is
	// that the model's files are not those any more that were opened: all requests end
	// with it, those to come included.
	Intact func() error
	// Speculate is that of requests which leave it to the scheduler; [SpeculateUsual]
	// is [SpeculateOff].
	Speculate Speculation
	// Drafts is how many tokens are drafted for a request and step, if there are so
	// many; 0 = as many as are measured to pay.
	Drafts int
	// Draft, if not nil, drafts tokens where that is measured to pay: a model with the
	// same tokens, whose steps have a row for each slot. The scheduler closes it.
	Draft *exec.Executor
	// Early drafts with the first layers of the model itself, if the executor has a program
	// of them: [exec.Executor.Early]. It excludes Draft.
	Early bool
	// DraftBytes is the memory for its keys and values, beside CacheBytes; 0 = no limit.
	DraftBytes int64
	// Remembered are sequences that were computed before, by another process.
	Remembered []Remembered
	// Disk, if not nil, is where sequences that left their slots are written, and read
	// from when a prompt begins like one. The scheduler does not close it.
	Disk *sequence.Folder
	// Key returns what keys and values depend on beside the tokens. Files of sequences
	// have it, and those with another are refused. It is called when it is needed, from
	// any goroutine. nil = a key of zeros.
	Key func() sequence.Key
	// Warn, if not nil, is told what is wrong with files.
	Warn func(what string, err error)
}

// idleTick is how often [Config.Between] is called while nothing is computed.
const idleTick = 200 * time.Millisecond

// SlabBytes is the least that is reserved at a time for keys and values.
const SlabBytes = kv.SlabBytes

// A StepInfo describes a computed step.
type StepInfo struct {
	Start  time.Time
	Took   time.Duration
	Rows   int  // tokens of all sequences
	Decode bool // every sequence had one row, beside those of drafted tokens

	Drafted, Accepted int           // rows of drafted tokens, and how many of them were accepted
	Drafting          time.Duration // of the draft model, before the step

	Threads int           // that computed it
	Packing time.Duration // of all threads together, for weights that were used for the first time
	Past    int           // tokens of its sequences, each counted once: those whose keys and values it reads
	Err     error
	Stopped bool // with an Err: it is computed again, or nobody waits for it
}
