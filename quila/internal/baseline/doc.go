// Package baseline has the models that a network is compared with: a GRU, a
// decoder transformer, both on the tape of package grad and sized to the weights
// of the network they stand beside, and an interpolated Kneser–Ney model of
// order 5, which counts.
//
//	GRU          h′ = (1−z)·n + z·h (K. Cho et al., 2014), reset before the sum as in cuDNN
//	Transformer  pre-norm decoder with learned positions; sees one window, no state
//	KneserNey    R. Kneser and H. Ney, Improved backing-off for m-gram language modeling, 1995
//
// The neural models read codes in windows, as a network does. A [Stream] is a
// model that reads so many texts at once; a GRU's carries its state from window
// to window, without a gradient between them. Streams of one model share its
// weights, and those that learn add to its gradients.
//
//	gru := baseline.NewGRU[float32](baseline.GRUWidth(weights, V), V, seed, nil)
//	s := gru.Open(16, true)
//	loss, err := s.Window(codes, nil) // codes [16, T+1]
package baseline
