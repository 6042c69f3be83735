// Package sight shows images to a model: it cuts them as the model's image
// processor does, runs them through its tower, and finds their places in a
// prompt.
//
//	file ── Look ──▶ Seen ── Text ──▶ prompt with placeholders ── Place ──▶ request
//
// An [Eye] is of one open model. Encoded images are kept by the hash of their
// file, so that a conversation that is continued encodes its images once.
package sight
