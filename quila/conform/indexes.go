package conform

// indexRows are the rows of the two indexes: the search for
// nearest neighbours (4.5, HNSW) and the B-link tree (4.8, BLINK).
//
//	recall.go   neighbours against sums in float64 over all vectors
//	changes.go  the graph after random insertions and deletions
//	image.go    the file, read and searched plainly as hnswlib does
//	tree.go     the tree against a map, its file, and many goroutines
//	history.go  whether a history of calls can be put in one order
func indexRows() []experiment {
	return []experiment{
		{ID: "HNSW-RECALL", Section: "4.5", What: "recall@32 at ef 64 of 10 000×64: clustered ≥ .985, Gaussian ≥ .75; all below exact_below", Check: hnswRecall},
		{ID: "HNSW-INV", Section: "4.5", What: "after 10⁴ insertions and deletions: degrees, reachability, no tombstone, levels", Check: hnswInvariants},
		{ID: "HNSW-FMT", Section: "4.5", What: "the image has hnswlib's layout, and a plain search in it finds the same", Check: hnswFormat},
		{ID: "BLINK-SEQ", Section: "4.8", What: "10⁶ operations as a map does them", Check: blinkSequential},
		{ID: "BLINK-CONC", Section: "4.8", What: "4 readers and 2 writers, 10⁵ operations, linearisable; no latch to read, at most 3 to insert", Check: blinkConcurrent},
		{ID: "BLINK-CONC-LONG", Section: "4.8", What: "4 readers and 2 writers, 10⁷ operations: no key is lost", Slow: true, Check: blinkLong},
		{ID: "BLINK-SER", Section: "4.8", What: "written and read: the same lookups; spoiled: refused", Check: blinkSerial},
	}
}
