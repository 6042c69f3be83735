// Package record logs decisions with their inputs and rules, so that they can
// be read, explained and replayed.
//
//	component ── Draft ──▶ Journal ──▶ ring of the last records
//	                          │──▶ listeners: metrics, traces, Writer
//	                          ▼
//	          d.jsonl, one Record a line ──▶ Read ──▶ package replay
//
// A record is one line of JSON with its fields in this order:
//
//	seq, tick            number in the log from 0; the caller's logical time
//	component, rule      the component that decided, and the rule that applied
//	evaluated            the rules that were tried, in order
//	target, device       the outcome; "" where there is none
//	reason               one line of English
//	inputs               everything the decision depends on
//	config_hash          of thresholds and other constants
//	parent               hash of the previous record, "" for the first
//	hash                 of all fields above
//	t_ns                 wall clock, not hashed
//
// The last line is the end mark: the version of the format, the number of records
// and the hash of the last one. A log that is opened again loses it until it is
// closed, and continues where it was; so a log without one was cut, by a kill or
// because its writer still runs.
//
// The hashes chain the records: a change to any field of a record breaks its own
// hash or the parent of the next one. No clock reading is hashed, so equal runs
// write equal logs except for t_ns.
package record
