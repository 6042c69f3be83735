// Package school trains a network on the toy corpus, and the models that are
// compared with it, by one recipe [R-2.3c].
//
//	Pupil     a model that learns: its weights, and streams that read texts
//	Recipe    batch, window, AdamW, the learning rate's warm-up and cosine
//	Run       one pupil in training; Step by step, resumable from a checkpoint
//	Evaluate  bits a character on a text, together and by kind of line
//	Compare   several runs, mark by mark, and the table of their curves
//	Gate      when the library may be written to [R-16.1b]
//
// A text of so many codes is cut into as many rows as a batch has; a step reads
// the next window of every row and carries the state on, without a gradient. At
// the end all rows begin again from an empty state.
//
//	row 0  ├─48─┼─48─┼─48─ …            step 1, 2, 3, …
//	row 1  ├────┼────┼──── …
//	  …
//
// # Checkpoints
//
// A checkpoint holds the weights, both moments of AdamW (S7), the carried state,
// the place in the text and the curve so far. It replaces the one before
// atomically and has a checksum. A run that is killed at any moment and resumed
// ends with the bits of one that was not.
package school
