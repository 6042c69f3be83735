// Package train keeps the state of a training run in files and steps it in
// pieces that fit in a few buffers: AdamW needs 14 bytes for every parameter,
// and only the gradients of one layer have to be in memory.
//
//	backward ─▶ gradients of a layer ─┐
//	                                  ▼
//	read 16 MiB ──▶ [ buffers ] ──▶ AdamW ──▶ [ buffers ] ──▶ write, sync
//	  version a                                                version b
//	                                                              │
//	                               journal: step, versions, sums ◀┘ at once
//
// A [State] holds for every [Layer] the float32 master parameters, both
// moments, and the bfloat16 parameters that passes compute with.
// [State.Step] takes gradients layer by layer, as a backward pass makes them;
// [State.Params] streams parameters in, one layer ahead; [State.Accumulate]
// adds gradients of several batches before a step.
//
// # What a kill leaves
//
// Every layer has two versions of its files. A step reads one and writes the
// other, syncs it, and then replaces the journal, which says which version
// counts. Until then the old step is whole, from then on the new one is: there
// is no moment at which a kill or a power cut leaves a mixture, and nothing is
// written twice. The price is room for two versions, 28 bytes a parameter. A
// step that was cut short is computed again; accumulated gradients are
// forgotten with it.
//
// The journal carries a note of the trainer's, so that its place in the data
// moves on with the step or not at all.
//
// # The same bits
//
// The arithmetic is float32 in a stated order, element by element, so that
// neither chunk sizes, buffers nor processors change a bit: a run that was
// killed and resumed equals one that was not, and a run from files equals one
// in memory ([New]).
package train
