// Package experts keeps the experts of mixtures that tokens chose most recently,
// and reads the others from the model's files when they are chosen.
//
// An expert of a layer is a few matrices that are used together: it is read,
// used and evicted as one. All experts share one block of equal slots:
//
//	Use      [7 1 4 9]  the experts of a layer that a step has chosen
//	         [1 4│7 9]  those in memory first; the others are read in this order
//	Acquire  1 4        what is in memory from there on; waits for at least one
//	Release             they may be evicted, the least recently used first
//	Acquire  7 9
//
// So experts that are in memory are computed while the first missing one is read,
// and each one while the next is. A layer may choose more experts than there are
// slots: a prompt chooses nearly all. Then they come in several waves.
//
// A prompt that scans all experts of all layers would leave an LRU cache with
// none that the next pass starts with. [Cache.Use] is told of such scans: the
// experts that they read are evicted first, and the others stay.
//
// Reads bypass the page cache and several are in flight. A step in steady state
// allocates nothing. A read that fails ends the step; the next one starts anew.
package experts
