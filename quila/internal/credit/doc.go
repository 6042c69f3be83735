// Package credit says who gets the blame and the praise: eligibility traces of
// neurons and edges, the rate at which they fade, and the rule that turns a
// reward into a change of weights (section 14).
//
//	Traces       one trace and one λ per neuron and parameter group, one trace per edge
//	PhaseWeight  what a phase multiplies into the session's trace
//	Oscillation  whether a ring of activations repeats
//	Reward       what an episode earned
//	Episode      e ← λ·e + ∇ log π, then ΔW = lr·(R−b)·(s/mean s)·e
//
// There are two kinds of traces. Training updates the persistent ones, here;
// inference adds to the trace of the session, which the grid keeps, begins at the
// persistent one and is discarded at the end of the call. A trace is two numbers
// that are updated in place: its cost does not depend on how many positions it
// has seen.
//
// The rule of rewards is the characteristic eligibility (R. J. Williams, Simple
// statistical gradient-following algorithms for connectionist reinforcement
// learning, 1992). The specification's letter, one scalar for all weights of a
// neuron, stays at chance where it learns.
package credit
