// Package index finds: the nearest vectors to a vector in a [Graph], and a key in a
// [Tree].
//
// # Trees
//
// A [Tree] is a concurrent ordered map from uint64 keys: the B-link tree of
// P. L. Lehman and S. B. Yao, Efficient locking for concurrent operations on
// B-trees (1981). The codebook finds its rows in one, and the cold folder its
// entries, [R-9.1].
//
//	level 2   [10 50]
//	           │  └──────────────┐
//	level 1   [10 20 30]─50─────▶[50 70]          ─high key─▶ right link
//	           │  │  └──┐         │   └──┐
//	level 0   [..]▶[..]▶[..]─50─▶[..]──▶[..]      leaves hold the values
//
//	Tree    the map: Get, Put, Update, Delete, All, From
//	Entry   a value of the codebook's index
//	Append  the bytes of blink.index, and [ReadTree], which checks them (6.5)
//
// Each node has a high key, above all its keys, and a link to its right
// neighbour. A split moves the upper half of a node to a new right neighbour
// first and tells the parent later. Whoever arrives with a key that is not below
// the high key goes right, so that nobody has to hold a latch on the way down:
//
//   - A reader takes no latch at all. The content of a node is a page that is
//     never changed: a writer makes a new page and stores its address, as the
//     paper's put writes a disk block in one piece.
//   - A writer latches the leaf; while it goes right, the next node too; after
//     a split, the parent as well. These are three at most, always in the order
//     right and up, and so there is no deadlock.
//   - Delete takes a key out of its leaf and leaves the leaf as it is, even if
//     it is empty: the paper's deletion. Nodes are never merged, and the file
//     is written without the gaps.
//
// # Graphs
//
// A [Graph] finds nearest neighbours in hierarchical navigable small worlds:
// Yu. A. Malkov and D. A. Yashunin, Efficient and robust approximate nearest
// neighbor search using hierarchical navigable small world graphs (2016). The
// knowledge of a neuron and the nodes of a context lie in such indexes.
//
//	level 2          ●───────────────●          few nodes, long links
//	level 1      ●───●───────●───────●          1/M of the nodes below
//	level 0  ●─●─●─●─●─●─●─●─●─●─●─●─●─●─●      all; vectors, labels
//
//	Graph   the vectors and the graph: Add, Delete, Search
//	GraphConfig dimensions, metric, widths, and where vectors are kept
//	Hit     a label and its distance
//	Write   the file, which is that of hnswlib 0.6, and Read
//
// A search descends greedily to level 0 and widens there to a beam of ef nodes.
// The beam is one sorted list, not two heaps: a node that has left the best ef
// is never expanded, so nothing else needs to be kept. The links of a node that
// were not visited are compared in one call of a kernel, which picks their rows.
//
// Below [GraphConfig.ExactBelow] entries a search compares all vectors instead, with
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
package index
