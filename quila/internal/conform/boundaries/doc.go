// Package boundaries has the conformance rows of what lies between symbols and
// the grid: position codes, codes of text, pictures and sound, the frozen
// codebook, and the consistency model.
package boundaries
