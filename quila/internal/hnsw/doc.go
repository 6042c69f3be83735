// Package hnsw finds nearest neighbours in hierarchical navigable small worlds:
// Yu. A. Malkov and D. A. Yashunin, Efficient and robust approximate nearest
// neighbor search using hierarchical navigable small world graphs (2016). The
// knowledge of a neuron and the nodes of a context lie in such indexes.
//
//	level 2          ●───────────────●          few nodes, long links
//	level 1      ●───●───────●───────●          1/M of the nodes below
//	level 0  ●─●─●─●─●─●─●─●─●─●─●─●─●─●─●      all; vectors, labels
//
//	Index   the vectors and the graph: Add, Delete, Search
//	Config  dimensions, metric, widths, and where vectors are kept
//	Hit     a label and its distance
//	Write   the file, which is that of hnswlib 0.6, and Read
//
// A search descends greedily to level 0 and widens there to a beam of ef nodes.
// The beam is one sorted list, not two heaps: a node that has left the best ef
// is never expanded, so nothing else needs to be kept. The links of a node that
// were not visited are compared in one call of a kernel, which picks their rows.
//
// Below [Config.ExactBelow] entries a search compares all vectors instead, with
// the same results in the same order, and no graph is kept until the file is
// written: it would be slower there, and larger than the vectors.
//
// # Deletion
//
// Delete leaves a tombstone, which searches pass through but do not return, and
// links its neighbours to each other. More than a fifth of tombstones are swept
// out. The pruning of links, here or in an insertion, may not cut off a node:
// the links of a spanning tree over level 0, in both directions, are never
// pruned. A node knows its parent in it, so that this costs four bytes.
//
// # Order
//
// The level of an entry is drawn from a counted stream by its serial number, and
// ties are broken by insertion, so that the same operations make the same graph.
package hnsw
