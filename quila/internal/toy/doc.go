// Package toy makes the corpus quila-toy-v1, whose entropy is known exactly: no
// model can have fewer bits a character than [Corpus.Entropy] [R-2.2b].
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
// kind, which [Kinds] separates, tell which of these a model has learned.
package toy
