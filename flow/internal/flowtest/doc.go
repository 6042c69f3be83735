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
//
// # Node types
//
// This is also the test suite for node types.
//
//	Rig     one node in isolation: whole streams, cut into calls at will,
//	        forward and backward
//	CheckNode the contract of package node: cuts, snapshots, both ABI versions,
//	        bound calls, no allocation, gradients
//
// A package of node types calls [CheckNode] with nodes that together cover all of
// its code. CheckNode counts allocations, so no other test may run in parallel.
//
// # C
//
// Libraries and programs in C are built once per run; without a compiler tests are
// skipped, or fail if ATENIA_CI is set:
//
//	func TestMain(m *testing.M) { os.Exit(flowtest.Main(m)) }
//	…
//	path := flowtest.Library(t, "testdata/nodes.c", "-DV1ONLY")
package flowtest
