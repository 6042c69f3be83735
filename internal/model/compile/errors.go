package compile

// The errors of compiling; several of one step are a [List].
type (

	// faults lists all errors that one step found.
	faults = List
)
