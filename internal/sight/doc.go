// Package sight shows images to a model: it cuts them as the model's image
// processor does, runs them through its tower, and finds their places in a
// prompt.
//
//	file ── Look ──▶ Seen ── Text ──▶ prompt with placeholders ── Place ──▶ request
//
// An [Eye] is of one open model. Encoded images are kept by the hash of their
// file, so that a conversation that is continued encodes its images once.
//
// # Pictures
//
// A [Recipe] turns the bytes of image files into the patches that the image
// tower of a model reads, as the model's own image processor does.
//
//	bytes ── Decode ──▶ Picture ── Recipe.Cut ──▶ pieces of patches
//
// A [Picture] is 8-bit RGB. A [Recipe] says how a model wants its images: whole
// within an area, in a fixed square, or as tiles with a thumbnail. Resampling is
// that of Pillow in fixed-point arithmetic, so that the pixels are equal, bit for
// bit, and what follows is a table of 256 values for each channel.
//
// Images come from outside: [Decode] bounds pixels before it allocates any.
package sight
