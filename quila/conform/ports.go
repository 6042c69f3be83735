package conform

// portRows are the rows about ports, their
// aggregation buffer and communities: PORT-SCAN to PORT-FRESH, GEN-INTERCEPT,
// AGGBUF, LOUVAIN, LOUVAIN-32K and SHD-LOUVAIN. Its oracles are plain loops over
// the formulas, in float64.
func portRows() []experiment {
	return []experiment{
		{ID: "PORT-SCAN", Section: "4.4", What: "recurrent scan = closed form, aggr of one size for any number of neurons, weights sum to 1", Check: scanRow},
		{ID: "PORT-SELF", Section: "4.4", What: "a scan sees the slots of table 6.2.2 and not its own", Check: selfRow},
		{ID: "PORT-UTIL", Section: "4.4", What: "α by phase; phase 1 ranks by persistent trace, phase 5 by the scan", Check: utilityRow},
		{ID: "PORT-TOPK", Section: "4.4", What: "mask of k, or of all; ties by id", Check: topRow},
		{ID: "PORT-OPEN", Section: "4.4", What: "phase 2: attention to all neurons, k + 2 streams", Check: openRow},
		{ID: "PORT-INTERCEPT", Section: "4.4", What: "doubly stochastic; zero streams where neurons are fewer", Check: interceptRow},
		{ID: "PORT-ALIGN", Section: "4.4", What: "beyond τ contracted by W_back, else bit-equal", Check: alignRow},
		{ID: "PORT-PATHA", Section: "4.4", What: "only Generator and Tool ports reach the codebook", Check: pathRow},
		{ID: "PORT-SHARE", Section: "4.4", What: "one W_baseline a type, a delta a port; micro and macro tensors are disjoint", Check: shareRow},
		{ID: "PORT-FRESH", Section: "4.4", What: "without traces utilities are finite and rank by the scan; utility 0 has a finite logit", Check: freshRow},
		{ID: "GEN-INTERCEPT", Section: "4.4", What: "row 0 of H·[m; o]; an idle Thinker is row m; equal rows change m by at most 1 %", Check: generatorRow},
		{ID: "AGGBUF", Section: "4.8", What: "a place a port, the collector's formula, nothing learned inside, cleared at turn end", Check: bufferRow},
		{ID: "LOUVAIN", Section: "4.7", What: "planted graph: NMI ≥ .99, Q ≥ that of igraph − .001; karate club Q ≥ .41", Check: louvainRow},
		{ID: "LOUVAIN-32K", Section: "4.7", What: "32 768 nodes, 3.27 M edges in 1.5 s, the same for any number of threads", Slow: true, Check: largeRow},
		{ID: "SHD-LOUVAIN", Section: "4.9", What: "5.1 % of edges changed: one re-run; 4.9 %: none", Check: rerunRow},
	}
}
