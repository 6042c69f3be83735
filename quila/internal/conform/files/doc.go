// Package files has the conformance rows of the model file: round trips, the
// seventy-five damaged files of section 6.4, mutations, the inventory of tensors,
// lineage and deployment.
//
//	forge    a good file taken apart, changed in one place and put together
//	vector   one way to change it, and the step that has to refuse the result
//
// The forge encodes header and containers with its own few lines, so that a fault
// of the product's encoder and decoder alike does not hide itself.
package files
