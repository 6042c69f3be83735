// Package codebook is the boundary between symbols and vectors: rows of a
// table, one for each code of text, image, audio or video.
//
//	Book        rows, frozen with a hash, and a count of calls by caller
//	Tokenizer   text to codes and back, without loss
//	EMA         the table while it is learned
//	Uniformise  the pass between learning and freezing
//
// A book goes one way:
//
//	random rows ─▶ EMA.Update, EMA.Revive ─▶ Uniformise ─▶ Freeze ─▶ Lookup, Nearest
//	               while training            once           SHA-256   no write any more
//
// Four callers may use a frozen book: the encoder of input, the decoder
// of output, the builder of the compressed context (SCT), and what encodes the
// returns of tools. Neurons and ports may not. The import rule says so to
// programmers; at run time every call names its [Caller] and is counted, so that
// a test can see that a tick made none.
//
// The code of text is exact: a byte or a merged sequence of bytes is one row, the
// rows are distinct ([Book.Freeze] measures by how much), and therefore the
// nearest row of a row is that row [R-10.0t].
//
// The nearest row is found by one matrix product for up to [MaxRows] rows
// argmax of x·c − ½|c|². Where rounding could decide, distances are
// computed again in float64; equal distances go to the smaller code.
package codebook
