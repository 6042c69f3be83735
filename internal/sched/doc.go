// Package sched turns requests into steps of the executor.
//
//	Submit ─▶ queue ─▶ slots ─▶ step: decode rows and prompt chunks
//	                     ▲        │
//	                     │        ▼
//	                     └── sample, deliver, finish, evict
//
// One goroutine owns the executor, the page caches and the slots. Between two
// steps it drops cancelled requests, admits waiting ones and fills the next
// ragged batch up to a token budget: every running sequence has its one row,
// what is left goes to prompts in the order of arrival. Nothing touches a
// sequence while a step runs.
//
// A slot keeps the pages of the sequence it served last. A new request takes
// over the longest beginning that any slot, idle or running, shares with its
// prompt, and computes only the rest; that makes a growing conversation cheap
// and a common system prompt too. No result shows it: a shared beginning, the
// other rows of a batch, the cut of a prompt into chunks all leave the bits of
// the logits alone.
//
// When pages run out, idle slots give theirs back first, then the sequence
// that began last waits and is computed again later; only a sequence alone in
// memory fails, with a *kv.MemoryError:
//
//	           admit              last token, cancelled, error
//	  queued ─────────▶ running ───────────────────────────────▶ ended
//	                     │   ▲
//	no pages, and others │   │ another request ended
//	          came first ▼   │
//	                    parked
//
// step.go holds the round of the scheduler and is the file to read first;
// request.go is what callers see, slot.go what a sequence is, reuse.go which
// slot a request gets, memory.go what happens when pages run out.
package sched
