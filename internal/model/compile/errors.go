package compile

// The errors of compiling; several of one step are a [List].
type (

	// Faults lists all errors that one step found.
	Faults = List
)
