// Package vqgan turns images, sound and video into codes of a codebook and back
// (P. Esser et al., Taming transformers, arXiv 2012.09841) [R-10.0v].
//
//	Train    stage 0: learns coders and codebooks, evens them out, freezes them
//	Model    a coder for images and one for sound
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
package vqgan
