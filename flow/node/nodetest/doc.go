// Package nodetest holds what every node type is tested with.
//
//	Rig     one node by itself: whole streams, cut into calls as one likes,
//	        forward and backward
//	Check   what must hold of any node: cuts, snapshots, both versions of the
//	        interface, bound calls, no allocation, gradients
//
// A package of node types calls [Check] with nodes that together reach all of
// its code. Check counts allocations: no test may run beside it.
package nodetest
