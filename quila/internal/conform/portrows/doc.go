// Package portrows has the rows of the conformance suite about ports, their
// aggregation buffer and communities: PORT-SCAN to PORT-FRESH, GEN-INTERCEPT,
// AGGBUF, LOUVAIN, LOUVAIN-32K and SHD-LOUVAIN. Its oracles are plain loops over
// the formulas, in float64.
package portrows
