package compile

import "atenia/internal/compile/faults"

// Errors about models; see package faults.
type (
	// An UnsupportedModelError says that no family supports a model, and why.
	UnsupportedModelError = faults.UnsupportedModelError
	// A ConfigError says which entry of a configuration is invalid.
	ConfigError = faults.ConfigError
	// A WeightBindingError says what is wrong with one tensor. It matches
	// [plan.ErrWeightBinding].
	WeightBindingError = faults.WeightBindingError
	// Faults lists all errors that one step found.
	Faults = faults.List
)
