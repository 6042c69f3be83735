// Package remember holds the stores of one model while it runs, and carries them
// between its file and memory: libraries of key features (block 5), the hashed
// look-up memory (block 6), the persona (block 7).
//
//	s, err := remember.Open(ctx, file, remember.Options{})
//	h := s.Recall(neuron, hMid, hKFE)     // step 6
//	keys, values := rows.Of(codes, state) // further rows for a port
//	s.Manner(m)                           // m += gate·W_persona·p
//	err = s.Keep(ctx, file)               // libraries and eviction weights, to be written
//
// What a file does not have costs nothing: without entries there is no recall, a
// table of zeros has no rows, a persona of zeros adds nothing, and results have the
// bits of a network without stores.
//
// All memory is reserved in one account. With a folder, entries beyond a limit lie
// in cold blocks there, in a folder of this process that [Stores.Close] removes, and
// the persona in a file that stays.
package remember
