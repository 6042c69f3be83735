// Package topology holds who sends to whom: the directed edges between neurons
// and the places where their messages land.
//
//	Graph    edges in rows by source, ascending by target, with a place each
//	Initial  the graph a network starts with [R-2.1b]
//	Place    where a target puts the message of its q-th incoming edge [R-5.2.2b]
//	Links    the graph without directions, as rows
//	Louvain  its communities, which give the order of the ports' scan
//	Tracker  finds them again once enough edges have changed
//
// Edges have two orders. That of the rows, by source and then target, numbers
// them: edge tensors are rows in it, and a model file stores it. Incoming lists
// the edges of a target in ascending source, the order in which it adds messages.
package topology
