// Package grid runs the neurons of a network for inference: sessions that hear
// codes at the boundary, exchange messages and move on tick by tick.
//
//	g, err := grid.New(&c, graph, w, threads)
//	s := g.Session(seed)
//	err = s.Inject(0, embedding)
//	err = g.Tick([]*grid.Session{s}, grid.Options{Phase: 5})
//
//	Grid      one network: weights, graph, what is derived from them
//	Session   the S channels of one conversation, its mail and its clock
//	Schedule  who fires: refractory counters, waiting, the activity cap
//	Baseline  what a call begins with: block 2 of a model file
//
// # A tick
//
//	schedule   refractory = 0 and mail → eligible; more than ⌈cap·N⌉: by waiting, then utility
//	step 1     the unread messages of those who fire, count mean, k_in, W_in
//	steps 2–11 package neuron, all sessions of the call as rows of one product
//	step 12    h_final goes into the ring; S1, S6, S8 and the uncertainty move on
//
// Everything reads the values of the tick's start and messages arrive at the
// next one, so the order of neurons, the number of threads and which other
// sessions are stepped in the same call do not change a bit.
//
// # Messages are not stored
//
// An inbox is a tick: the arrival of its oldest unread message. The ring keeps
// h_final of the last ref_base + wait_max + ⌈1/cap⌉ + 1 ticks, and a neuron that
// fires makes the messages of its incoming edges from it, rounds and adds them
// . A session can also materialise its messages, in their wire form; that
// is the oracle of the first way and what edges between machines need. Both give
// the same bits.
//
// # Two forms of step 1
//
// Where every neuron fires at every tick and messages are not rounded (the
// profile nano), an edge is a D×D matrix and step 1 a product with the
// neighbours' h_final. Otherwise messages are made, H×H each. Conv and W_in of a
// receiver are one matrix then, as long as all of them fit in 64 MiB.
//
// # Credit
//
// Credit says who gets the blame and the praise: eligibility traces of
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
package grid
