// Package sched turns requests into steps of the executor, with continuous
// batching and chunked prefill.
//
//	Submit ─▶ queue ─▶ slots ─▶ step: decode rows and prompt chunks
//	                     ▲        │
//	                     │        ▼
//	                     └── sample, deliver, finish, evict
//
// One goroutine owns the executor, the page caches and the slots. Between two
// steps it drops cancelled requests, admits waiting ones and fills the next
// ragged batch up to a token budget: every running sequence gets one row, and
// prompts get the rest in the order of admission. Sequences are not modified while
// a step runs.
//
// A slot keeps the pages of its last sequence. A new request reuses the longest
// prefix that any slot, idle or running, shares with its prompt, and computes
// only the rest, which makes growing conversations and common system prompts
// cheap. Results do not depend on it: prefix reuse, the other rows of a batch
// and the chunking of a prompt do not change a bit of the logits.
//
// When a slot is given to another request, its sequence is kept beside the slots,
// within a limit, and found again by the hashes of its prefixes: a system prompt
// stays, whatever the number of conversations. A prompt that begins like one which
// is being computed waits for the prefix of both and goes on in the same pages.
//
// Who waits is admitted by priority, which rises with waiting, then by what its
// client was given, then by arrival. Prompts get only so many rows beside answers
// that these come at least every second step's time. Whatever is decided is kept
// with its reason: [Scheduler.Why].
//
// An answer has one row in a step, and as many more for drafted tokens as are measured
// to pay: a drafted token is kept while it is what the request's sampler chooses from
// the row before, so that answers do not depend on drafts.
//
// When pages run out, ended sequences are evicted first; then the sequence with the
// lowest priority, of equal ones that admitted last, is preempted and later
// recomputed. No sequence has more tokens than fit alone ([Scheduler.Context]):
//
//	           admit              last token, cancelled, error
//	  queued ─────────▶ running ───────────────────────────────▶ ended
//	                     │   ▲
//	no pages, and others │   │ another request ended
//	          came first ▼   │
//	                    stalled
//
// A [Scheduler] is made of values, each in a file of its name:
//
//	admission  who waits and who runs        queue, priority, slot, reuse, fork, memory
//	batch      the step that is filled       step, gap, images
//	drafts     what is drafted and accepted  speculate, lookup, drafter, shadow, gain
//	storage    the states of all sequences   state, statepool, snapshot
//	kept       sequences without a slot      prefix, disk, segment, remember, spill, slotfile
//	delivery   what clients are sent         rows, ahead, decision, status
//
// step.go holds the main loop and is the file to read first; request.go is the API for
// callers, config.go that for who opens a model.
package sched
