// Package boundary is where a network meets what it reads and says: a codebook of
// texts, pictures and sound, and the coders that turn pictures and sound into its
// codes and back.
//
// # Codebook
//
// A codebook is the boundary between symbols and vectors: rows of a
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
// The nearest row is found by one matrix product for up to [maxRows] rows
// argmax of x·c − ½|c|². Where rounding could decide, distances are
// computed again in float64; equal distances go to the smaller code.
//
// # Pictures and sound
//
// A [VQGAN] turns images, sound and video into codes of a codebook and back
// (P. Esser et al., Taming transformers, arXiv 2012.09841) [R-10.0v].
//
//	Train    stage 0: learns coders and codebooks, evens them out, freezes them
//	VQGAN    a coder for images and one for sound
//	Coder    encoder, codebook, decoder; one code stands for 8×8 pixels
//	Sound    samples ─▶ log-mel pictures ─▶ samples (Griffin and Lim)
//	Shapes   pictures of shapes and sounds of tones, to train and measure with
//
// A picture is rows of pixels, a pixel its channels, values from −1 to 1:
//
//	picture ─▶ 3×3 ─▶ (4×4 stride 2 ─▶ residual ─▶ SiLU) ×3 ─▶ z ─▶ nearest row e
//	                                                                    │
//	picture ◀─ 3×3 ◀─ (SiLU ◀─ residual ◀─ enlarge, 3×3) ×3 ◀─ 3×3 ◀────┘
//
// The loss is the squared error of the picture, plus .25 times that between z and
// e (commitment), plus after a while what a discriminator of patches thinks of
// the picture. The gradient goes through the choice of a row as if z were e. Rows
// follow the means of the vectors that choose them. For the first steps there is
// no choice at all; then the codebook starts from k-means of what the encoder has
// learned to say, so that few rows are ever dead.
//
// Where pictures and sounds mean the same, their mean codes are brought together
// by a contrastive loss (A. van den Oord et al., InfoNCE, arXiv 1807.03748).
//
// Video is the picture coder, frame by frame, and its codebook.
//
// Convolutions are operations of this package on the tape: the input values of
// 1,024 output pixels are gathered in rows, which one matrix product multiplies.
package boundary
