// Package school trains a network on the toy corpus, and the models that are
// compared with it, by one recipe [R-2.3c].
//
//	Pupil     a model that learns: its weights, and streams that read texts
//	Recipe    batch, window, AdamW, the learning rate's warm-up and cosine
//	Run       one pupil in training; Step by step, resumable from a checkpoint
//	Evaluate  bits a character on a text, together and by kind of line
//	Compare   several runs, mark by mark, and the table of their curves
//	Gate      when the library may be written to [R-16.1b]
//
// A text of so many codes is cut into as many rows as a batch has; a step reads
// the next window of every row and carries the state on, without a gradient. At
// the end all rows begin again from an empty state.
//
//	row 0  ├─48─┼─48─┼─48─ …            step 1, 2, 3, …
//	row 1  ├────┼────┼──── …
//	  …
//
// # Checkpoints
//
// A checkpoint holds the weights, both moments of AdamW (S7), the carried state,
// the place in the text and the curve so far. It replaces the one before
// atomically and has a checksum. A run that is killed at any moment and resumed
// ends with the bits of one that was not.
//
// # Baselines
//
// A network is compared with other models: a GRU, a
// decoder transformer, both on the tape of package grad and sized to the weights
// of the network they stand beside, and an interpolated Kneser–Ney model of
// order 5, which counts.
//
//	GRU          h′ = (1−z)·n + z·h (K. Cho et al., 2014), reset before the sum as in cuDNN
//	Transformer  pre-norm decoder with learned positions; sees one window, no state
//	KneserNey    R. Kneser and H. Ney, Improved backing-off for m-gram language modeling, 1995
//
// The neural models read codes in windows, as a network does. A [BaselineStream] is a
// model that reads so many texts at once; a GRU's carries its state from window
// to window, without a gradient between them. Streams of one model share its
// weights, and those that learn add to its gradients.
//
//	gru := school.NewGRU[float32](school.GRUWidth(weights, V), V, seed, nil)
//	s := gru.Open(16, true)
//	loss, err := s.Window(codes, nil) // codes [16, T+1]
//
// # Curriculum
//
// A [Curriculum] takes a network through the stages of supervised training
// [R-2.6c]:
//
//	a  the first tenth   stream training alone; then the consistency model may be distilled
//	b  to 70 %           the library of key features, once the gate of Req 16.1.1 is open;
//	                     every eighth step a closed-book batch of the look-up memory
//	c  to the end        refractory counters, E4M3 messages, five ticks, the cap's ramp
//
// It is a pupil that changes the options of its
// streams from stage to stage.
//
// # Toy corpus
//
// [MakeToy] makes the corpus quila-toy-v1, whose entropy is known exactly: no
// model can have fewer bits a character than [ToyCorpus.Entropy] [R-2.2b].
//
//	kind      line                          choices
//	Sum       8+20=28                       50·50
//	Sentence  the red cat sees the dog.     8·8·4·8
//	Recall    #a1d2e4?a1                    8·7·6 keys, 10³ digits, 3 queries
//	Reversal  >mtqp|pqtm                    20⁴
//
// The four kinds are equally likely, and a line tells its choices without
// ambiguity, so −log2 of their probability is the line's information. A line
// depends on the seed and its number alone (package random, site Corpus), which
// makes the corpus the same on every machine. Sums need arithmetic, sentences
// statistics, recall and reversal a look at what came before: the bits of each
// kind, which [toyKinds] separates, tell which of these a model has learned.
package school
