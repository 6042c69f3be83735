// Package checkpointdir implements "atenia checkpoint": it saves the tensors of a
// model or of a cache as a checkpoint, inspects, verifies and restores one, and
// collects cache entries that no checkpoint refers to.
//
//	DIR/checkpoint.meta     the manifest: tiers, desired tiers, plans
//	DIR/checkpoint.*.sums   hashes of the bytes
//	DIR/checkpoint.*.model  what the tensors are of, and where else their bytes are
//	DIR/cache/              the bytes, unless another cache is given
//
// Package checkpoint defines the files and what they mean.
package checkpointdir
