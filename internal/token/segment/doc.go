// Package segment turns text into the words a tokenizer's model works on.
//
// A [Normalizer] rewrites a [Piece] of text, a [PreTokenizer] cuts it into
// smaller ones; each implements the component of that name in Hugging Face's
// tokenizer.json. If offsets are wanted, a piece knows for every byte where in
// the original it came from, through any number of rewritings:
//
//	"Its ﬁne" ── NFKC ──▶ "Its fine" ── Split ──▶ "Its"  " fine"
//	                                    from       0–3     3–7    (code points)
//
// Split patterns are regular expressions that Go cannot run; [Scanners] holds a
// scanner for each known one, by its exact text (pattern.go). Character classes
// are Unicode 16 and older, as the reference library has them (unicode.go).
package segment
