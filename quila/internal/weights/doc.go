// Package weights holds the tensors of a network by name: which there are, of
// which shape, in which block of a model file, and their first values.
//
//	Spec       a tensor's name, shape and place
//	Inventory  the tensors of a configuration, a normative list (section 6.5)
//	Set        their values, for training in float32 and for checks in float64
//	Init       first values [R-2.1c]
//
// Tensors of neurons have the neuron as first axis, and matrices act on column
// vectors. Those of edges follow the order of [topology.Graph].
package weights
