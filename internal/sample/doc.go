// Package sample chooses tokens: logits in, an id out.
//
//	Params   how to choose; the zero value is greedy
//	Sampler  chooses the tokens of one sequence
//	Stage    one step between logits and choice
//	Stops    finds stop strings in the text that follows
//	Constraint  what limits the tokens of a sequence, such as a grammar
//
// Each sequence has a [Sampler], which accepts every token, including the
// prompt's, and returns the next:
//
//	s, err := sample.New(p, vocab)
//	for _, id := range prompt {
//		s.Accept(id)
//	}
//	for {
//		c, err := s.Sample(logits)
//		s.Accept(c.ID)
//		…
//	}
//
// # Stages
//
// The logits, with LogitBias added, pass through the stages in Params.Order, by
// default llama.cpp's order. Stages whose fields are zero do not run.
//
//	stage        fields                    effect on the logits l
//	penalties    RepeatPenalty, …          recent tokens: l/r or l·r, − count·f − p
//	dry          DRY                       l − m·b^(n−a) if it extends a repetition of n
//	top-k        TopK                      keeps the K largest
//	typical      Typical                   keeps those of nearly expected surprise
//	top-p        TopP                      keeps the fewest with mass p
//	min-p        MinP                      keeps those of at least p times the largest
//	temperature  Temperature               l/t
//
// Then one of the remaining tokens is drawn. Two settings shorten the list:
//
//   - Temperature 0 is greedy. Penalties and dry still run, then the largest
//     logit is taken, the lowest id among equals.
//   - Mirostat (Tau above 0) draws the token itself, after the other stages, and
//     replaces those that remove tokens.
//
// Every stage that removes tokens leaves at least one.
//
// # Cost
//
// Greedy is one pass. Top-k is a pass with a heap; top-p and typical build a
// histogram and sort one bucket of it. Nothing sorts the vocabulary, and nothing
// is allocated after a sampler was created, except the list requested by
// LogProbs.
//
// # Repeatability
//
// A sampler has its own random stream. Equal parameters, seed, accepted tokens
// and logits give equal choices on every machine, provided that the exponential
// function rounds alike.
//
// # Scores
//
// How well a model predicts, from rows of its logits:
//
//	[TokenLogProb]  log-probability of one token of a row
//	[Sum]           mean of log-probabilities, with its error: perplexity
//	[Divergence]    rows of two models, compared: KL(reference ‖ model)
//	[Choices]       accuracy over multiple-choice questions
//
// Sums are in float64 and in the order of the rows, so that results do not depend
// on threads or on how rows were batched.
package sample
