// Package nodetest is the test suite for node types.
//
//	Rig     one node in isolation: whole streams, cut into calls at will,
//	        forward and backward
//	Check   the contract of package node: cuts, snapshots, both ABI versions,
//	        bound calls, no allocation, gradients
//
// A package of node types calls [Check] with nodes that together cover all of
// its code. Check counts allocations, so no other test may run in parallel.
package nodetest
