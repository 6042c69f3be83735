// Package vault works on the folders of checkpoints: it makes one of a model or
// of a cache, says what is in it, checks every byte, restores it and clears
// away what no checkpoint names any more.
//
//	DIR/checkpoint.meta     what was where, and where it was wanted
//	DIR/checkpoint.*.sums   hashes of the bytes
//	DIR/cache/              the bytes, unless another cache is given
//
// What a checkpoint and its files mean is package internal/store/checkpoint.
package checkpointdir
