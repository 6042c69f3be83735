// Package blink is a concurrent ordered map from uint64 keys: the B-link tree of
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
//	Append  the bytes of blink.index, and Read, which checks them (6.5)
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
package blink
