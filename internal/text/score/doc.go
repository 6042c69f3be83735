// Package score measures how well a model predicts, from rows of its logits.
//
//	[LogProb]      log-probability of one token of a row
//	[Sum]          mean of log-probabilities, with its error: perplexity
//	[Divergence]   rows of two models, compared: KL(reference ‖ model)
//	[Question]     a multiple-choice question, from lines of JSON
//	[Choices]      accuracy over questions
//
// Sums are in float64 and in the order of the rows, so that results do not depend
// on threads or on how rows were batched.
package score
