// Package basic holds the memoryless nodes: the endpoints where a graph meets
// its host, gains, and routing of channels.
//
//	Input  ──▶ Gain ──▶ Pan ─┐
//	Constant ─▶ Matrix ──────┴▶ Mix ──▶ Split ──▶ … ──▶ Merge ──▶ Probe
//
// None of them has state, so results do not depend on how a stream is cut.
// [Types] returns their table; each is described where it is defined.
//
// # Biquad
//
// Package biquad holds the second-order filter.
//
//	f0, q, gain_db ──design, float64──▶ b0 b1 b2 a1 a2 ──▶ y = b0 x + s1
//	                                                      s1 = b1 x − a1 y + s2
//	                                                      s2 = b2 x − a2 y
//
// Constant parameters are designed once, and rows of all batches and channels
// run side by side, including those of fused nodes. Parameters with a value per
// frame are designed frame by frame.
//
// Backward, the gradients of constant coefficients are summed over the whole
// stream and pass through the derivative of the design once; the others pass
// through it frame by frame.
//
// # Delay
//
// Package delay holds the delay line: fixed or modulated, integer or
// fractional.
//
//	         n − delay           n
//	── ○ ── ○ ─┴─ ○ ── ○ ── ○ ── ●      none      the frame before the place
//	   └────┴─────┴────┘                linear    a line through two frames
//	     weights by place               lagrange  a cubic through four
//
// A line is a ring that holds the longest delay and one call. A constant delay
// copies runs of frames; a modulated one is computed frame by frame.
//
// # Dynamics
//
// Package dynamics holds nodes that react to the level of a signal, and
// memoryless nonlinear nodes.
//
//	Envelope    follower of |x| with attack and release
//	Compressor  follower ──► soft knee ──► gain, look-ahead within the stream
//	Limiter     no sample above the ceiling: peak of the look-ahead ──► gain
//	WaveShaper  tanh, cubic, clip; with or without antiderivative antialiasing
//	ADSR        a gate's envelope of straight segments (no adjoint)
//
// Look-ahead delays the signal inside the stream: the first frames of the
// output are zeros and the node reports the delay.
//
//	x ──┬──► |x| ──► follower ──► level over threshold ──► gain ─┐
//	    └──► look-ahead frames of delay ─────────────────────────x──► y
//
// Derivatives at the kinks of |x|, max and the switch between attack and
// release are one-sided: those of the branch taken.
//
// # Filter
//
// Package filter holds filters: recursive ones with a few coefficients, and
// short and long FIR filters.
//
//	SVF        state-variable filter, trapezoidal: stays stable while its frequency moves
//	OnePole    first-order lowpass
//	DCBlock    first-order highpass at a few Hz
//	FIR        taps, direct; with method partitioned by Fourier transform
//	Convolver  long taps (rooms, cabinets), by Fourier transform, without latency
//
// All of them accept one value of a parameter for the whole stream or one per
// frame, except for taps, which are tables. Every type has an exact adjoint.
//
// A partitioned convolution computes the first partition directly and the
// others as products of spectra of blocks, which are aligned to the stream, not
// to the calls:
//
//	y[n] = Σ h[k] x[n-k]                     k < P      per frame
//	     + IFFT( Σ_j H_j X_{b-j} )[n - bP]   j >= 1     once a block b of P frames
//
// # Meter
//
// Package meter holds the loudness meter.
//
//	            ┌──► rms        per channel, linear
//	in ──► hop ─┼──► peak       per channel, linear: the largest |x|
//	            ├──► momentary  of all channels, LUFS, over the last blocks reports
//	            └──► integrated of all channels, LUFS, gated, since the start
//
// A token is hop frames and gives one number to each output. With a hop of a
// tenth of a second and 4 blocks, momentary and integrated follow ITU-R
// BS.1770-4 and EBU R 128: K weighting (a shelf for the head, a highpass),
// channels summed with their weights, and gating that leaves out blocks below
// -70 LUFS, then blocks more than 10 LU below the mean of the rest.
//
// The meter has no adjoint.
//
// # Resample
//
// Package resample holds nodes that change the sampling rate.
//
//	            up          filter h                    down
//	x[i] ──▶ zeros between ──▶ cut at the lower ──▶ every down-th ──▶ y[j]
//	                          rate's Nyquist
//
//	y[j] = Σ h[j·down − i·up] x[i]
//
// A [Filter] computes this without the zeros (a polyphase filter): each output
// is a dot product of the frames before it with every up-th tap. Its transpose
// is the same with up and down exchanged, unscaled. [Kaiser] designs the taps.
//
// # Rowwise
//
// Package rowwise implements nodes that treat every row (a channel of a batch)
// independently, carrying a few numbers from frame to frame: recursive filters,
// followers, waveshapers.
//
// A [Kernel] is written for one row; this package does the rest:
//
//	per row            Kernel.Forward, Kernel.Backward
//	over the rows      calls, snapshots, resets, reports
//	for parameters     broadcasting ([Values]), sums in an order that no cut changes
//
// A backward call recomputes the row from the state before it, keeps what the
// derivative reads in scratch rows, and then goes from the last frame to the
// first:
//
//	state0, x ──► y, scratch            frames 0 … n-1
//	dy, adjoint state ──► dx, dp        frames n-1 … 0
//
// # Source
//
// Package source holds nodes that generate signals from their parameters and
// the position in the stream alone.
//
//	LFO    slow waves: sine, saw, square, triangle, not band-limited
//	Noise  white, Gaussian or pink, from a seed and a counter
//
// A Noise is a pure function of seed, row and frame: any part of it can be
// generated again, for a backward sweep or on another machine, without what
// came before. Neither has an adjoint.
//
// # Wave
//
// Package wave holds band-limited oscillators.
//
//	frequency ─▶ Σ ─▶ phase ─▶ sine, saw, square, triangle ─▶ × amplitude ─▶
//	                            │ rounded at steps and corners
//
// An Oscillator of ratio r works at r times its rate and decimates; an
// OversampledOsc leaves decimation to the nodes behind it. A phase is the
// float64 sum of the frequency over all frames so far, so a frequency may be
// modulated, and its gradient is a sum over all later frames.
//
// # Neural
//
// Package neural holds layers of neural networks that run on streams, with the
// state that streaming requires.
//
//	Conv1d        causal convolution over time: kernel, dilation, stride
//	GRU           gated recurrent unit
//	SquaredError  mean over the channels of (in - target)², per frame
//
// Weights are tables in PyTorch's layout, so trained layers need no reordering:
//
//	Conv1d  weight [out, in, kernel]   bias [1, out, 1]
//	GRU     weight_ih [1, 3 hidden, in]  weight_hh [1, 3 hidden, hidden]
//	        bias_ih, bias_hh [1, 3 hidden, 1]     gates in the order r, z, n
//
// A causal layer pads on the left only: frame n reads no later frame, and a
// stream cut anywhere gives the same bits as the whole. The backward mode is
// backpropagation through the whole stream, not within a block.
package signal
