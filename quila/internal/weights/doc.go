// Package weights holds the tensors of a network by name: which there are, of
// which shape, in which block of a model file, and their first values.
//
//	Spec       a tensor's name, shape and place
//	Inventory  the tensors of a configuration, a normative list (section 6.5)
//	Set        their values, for training in float32 and for checks in float64
//	Init       first values [R-2.1c]
//
// Tensors of neurons have the neuron as first axis, and matrices act on column
// vectors. Those of edges follow the order of [Graph].
//
// # Random numbers
//
// A [Philox] makes random numbers by counting, with Philox-4x32-10 (J. K.
// Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011). A number
// depends on the seed, the neuron, the tick and the site that asks, never on
// how many were drawn before or on which thread, so a replay is exact.
//
//	s := weights.Stream{Seed: seed, Neuron: 3, Tick: 17, Site: weights.Noise}
//	words := s.Words(8)
//
// # Topology
//
// A [Graph] holds who sends to whom: the directed edges between neurons
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
package weights
