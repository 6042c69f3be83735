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
// prompts get the rest in the order of arrival. Sequences are not modified while
// a step runs.
//
// A slot keeps the pages of its last sequence. A new request reuses the longest
// prefix that any slot, idle or running, shares with its prompt, and computes
// only the rest, which makes growing conversations and common system prompts
// cheap. Results do not depend on it: prefix reuse, the other rows of a batch
// and the chunking of a prompt do not change a bit of the logits.
//
// When pages run out, idle slots are evicted first; then the sequence that was
// admitted last is preempted and later recomputed. Only a sequence that does not
// fit alone fails, with a *kv.MemoryError:
//
//	           admit              last token, cancelled, error
//	  queued ─────────▶ running ───────────────────────────────▶ ended
//	                     │   ▲
//	no pages, and others │   │ another request ended
//	          came first ▼   │
//	                    parked
//
// step.go holds the main loop of the scheduler and is the file to read first;
// request.go is the API for callers, slot.go the state of a sequence, reuse.go
// the assignment of slots, memory.go eviction and preemption.
package sched
