package conform

// gridRows are the rows of messages and of the channels of
// sessions: sections 4.1 to 4.3 and 4.6 as far as the grid runs them.
func gridRows() []experiment {
	return []experiment{
		{ID: "REQ-5.1.2a", Section: "4.1", What: "a second call begins with the baseline of S1, S3, S6 and S8, as the first did", Check: gridBaseline},
		{ID: "REQ-5.1.2b", Section: "4.1", What: "during a call they differ from it, and S2 and confidence survive between ticks", Check: survives},
		{ID: "REQ-5.3.2a", Section: "4.1", What: "the E4M3 vectors, saturation and NaN", Check: codec},
		{ID: "REQ-5.3.2b", Section: "4.1", What: "payload bytes on the bus are E4M3, boards are their values in half precision, and a byte that changes changes h", Check: bus},
		{ID: "REQ-8.5.1a", Section: "4.1", What: "W_out and kernel of an edge change its messages alone; edges share no memory", Check: edgesApart},
		{ID: "INV-7", Section: "4.2", What: "a call repeated after another is the same bits; its trace begins at the persistent one", Check: discarded},
		{ID: "DET-1", Section: "4.3", What: "h_final after 20 ticks has the same bits for 1, 3 and 8 threads and other neighbours in the batch", Check: deterministic},
		{ID: "S1-RING", Section: "4.3", What: "the ring of activations keeps 16, oldest first", Check: activations},
		{ID: "S8-RING", Section: "4.3", What: "the ring of contributions keeps 32; S3 keeps 8 frames, newest first, in half precision", Check: contributions},
		{ID: "AGG-MEAN", Section: "4.3", What: "three messages in six orders have one mean; of two it is the literal formula", Check: means},
		{ID: "AGG-PLACE", Section: "4.3", What: "a place is a cyclic shift; a tile touches its cells; a tile out of range is refused", Check: places},
		{ID: "MSG-SIZE", Section: "4.3", What: "65,543 bytes at H = 256, H²+7 otherwise", Check: sizes},
		{ID: "REFR-SKIP", Section: "4.3", What: "a neuron that rests changes its counter alone, sends nothing and keeps its mail", Check: rests},
		{ID: "ROUTE", Section: "4.3", What: "one message per target, with sender and flags", Check: routes},
		{ID: "UNC-ROW", Section: "4.3", What: "the last row carries uncertainty, is stripped and grows along a chain", Check: uncertainty},
		{ID: "WIRE-FLAGS", Section: "4.3", What: "flag combinations come back; malformed messages are typed errors and counted", Check: wireFlags},
		{ID: "PARTIAL-SEND", Section: "4.3", What: "more than half of the attention in a tile sends the tile, at its place", Check: partialSend},
		{ID: "MSG-FUSED", Section: "4.3", What: "messages made by their receiver are the bytes that travel, for 50 ticks; the ring is never overrun", Check: fused},
		{ID: "S-FIELDS", Section: "4.3", What: "the fields that no step of the specification writes equal hand-computed values", Check: fields},
		{ID: "ANTI-ORIGIN", Section: "4.3", What: "edges make neurons differ, a state put back goes on with the same bits, and h_final is what is aggregated", Check: origin},
		{ID: "PH0-FP8", Section: "4.6", What: "the boundary's message is E4M3 of the edge's message of the turned code", Check: gridBoundary},
	}
}
