package compile

import "atenia/internal/compile/faults"

// Errors about models; see package faults.
type (
	// An UnsupportedModelError says that no family compiles a model, and why.
	UnsupportedModelError = faults.UnsupportedModelError
	// A ConfigError says which entry of a configuration cannot be used.
	ConfigError = faults.ConfigError
	// A WeightBindingError says what is wrong with one tensor. It matches
	// [plan.ErrWeightBinding].
	WeightBindingError = faults.WeightBindingError
	// Faults are all the errors that one step found.
	Faults = faults.List
)
