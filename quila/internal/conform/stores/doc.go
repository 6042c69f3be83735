// Package stores has the rows of sections 4.1, 4.3 and 4.5 about the libraries of
// key features and the levels of memory that they lie in: life of an entry,
// eviction, promotion, cold blocks.
package stores
