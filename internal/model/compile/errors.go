package compile

// Errors about models; see package faults.
type (

	// Faults lists all errors that one step found.
	Faults = List
)
