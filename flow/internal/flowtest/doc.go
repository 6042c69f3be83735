// Package flowtest draws random graphs and says what they must give. Only tests import it.
//
//	Draw(seed) ──▶ Graph ──graph.Link──▶ Reference: every stream, by Kahn's definition
//	                 │                      ‖ the same bytes
//	                 └──a session──▶ Check: Block or Step, then Drain
//
// A [Graph] mixes everything that changes when a node fires: types that must be asked how much they give, gates, holds,
// prefills, cycles, oversampling, other rates, outputs with many readers. [Reference] knows nothing of blocks, holds and
// gates. It fires any node that has frames, for a random number of tokens, in random order, with streams that grow
// without bound: what Kahn's theorem says every schedule must give. [Check] runs a session of the graph and
// compares.
package flowtest
