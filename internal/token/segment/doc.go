// Package segment splits text into the words that a tokenizer's model processes.
//
// A [Normalizer] rewrites a [Piece] of text, a [PreTokenizer] splits it into
// smaller ones; each implements the component of that name in Hugging Face's
// tokenizer.json. If offsets are requested, a piece records for every byte where
// in the original it came from, through any number of rewrites:
//
//	"Its ﬁne" ── NFKC ──▶ "Its fine" ── Split ──▶ "Its"  " fine"
//	                                    from       0–3     3–7    (code points)
//
// Split patterns are regular expressions that Go's regexp does not support;
// [Scanners] has a scanner for each known one, by its exact text (pattern.go).
// Character classes follow Unicode 16 and older, as in the reference library
// (unicode.go).
package segment
