// Package decision writes down what was decided, from what, by which rule, so
// that it can be read, explained and made again.
//
//	component ── Draft ──▶ Journal ──▶ ring of the last records
//	                          │──▶ listeners: metrics, traces, Writer
//	                          ▼
//	          d.jsonl, one Record a line ──▶ Read ──▶ package replay
//
// A record is one line of JSON with its fields in this order:
//
//	seq, tick            number in the log from 0; the caller's logical time
//	component, rule      who decided, and which rule did
//	evaluated            the rules that were looked at, in order
//	target, device       what was decided; "" where there is none
//	reason               one line of English
//	inputs               all that the decision depends on
//	config_hash          of thresholds and other constants
//	parent               hash of the record before, "" of the first
//	hash                 of everything up to here
//	t_ns                 wall clock, not part of the hash
//
// The hashes chain the records: one that was changed afterwards, in whatever
// field, is noticed by its own hash or by the parent of the next one. No clock
// is read for anything that is hashed, so equal runs write equal logs but for
// t_ns.
package decision
