// Package sample chooses tokens: logits in, an id out.
//
//	Params   how to choose; the zero value is greedy
//	Sampler  chooses the tokens of one sequence
//	Stage    one step between logits and choice
//	Stops    finds stop strings in the text that follows
//
// A sequence has one [Sampler]. It is told every token, the prompt's too, and
// asked for the next:
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
// The logits, with LogitBias added, pass through the stages in Params.Order. By
// default this is llama.cpp's order; a stage whose fields are zero is left out.
//
//	stage        fields                    what it does to the logits l
//	penalties    RepeatPenalty, …          recent tokens: l/r or l·r, − count·f − p
//	dry          DRY                       l − m·b^(n−a) if it extends a repetition of n
//	top-k        TopK                      keeps the K largest
//	typical      Typical                   keeps those of nearly expected surprise
//	top-p        TopP                      keeps the fewest with mass p
//	min-p        MinP                      keeps those of at least p times the largest
//	temperature  Temperature               l/t
//
// Then one of the tokens that are left is drawn. Two settings shorten the list:
//
//   - Temperature 0 is greedy. Penalties and dry still run, then the largest
//     logit is taken, the lowest id among equals.
//   - Mirostat (Tau above 0) draws the token itself, after the stages, and takes
//     the place of those that remove tokens.
//
// Every stage that removes tokens leaves at least one.
//
// # Cost
//
// Greedy is one pass. Top-k is a pass with a heap; top-p and typical add up a
// histogram and sort one bucket of it. Nothing sorts the vocabulary, and
// nothing is allocated once a sampler is made, but for the list that LogProbs
// asks for.
//
// # Repeatability
//
// A sampler has its own random stream. Equal parameters, seed, accepted tokens
// and logits give equal choices, on every machine, as far as its exponential
// function rounds alike.
package sample
