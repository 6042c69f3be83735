package amp

import (
	"time"
)

// A ProcessConfig configures libraries in separate processes.
type ProcessConfig struct {
	// Command is the program and arguments that end up in [Serve]: usually the
	// host program with a subcommand.
	Command []string
	// Timeout bounds a request; zero means 5 s. In real time it must be less
	// than a block.
	Timeout time.Duration
	// Patience is how long a child may be late, at least three calls in a row,
	// before it is ended and started again after a back-off; zero means 250 ms,
	// or three times Timeout if that is longer. A shorter hiccup mutes the calls
	// that were late and nothing more.
	Patience time.Duration
	// Spare keeps a second child ready for each library, which shortens
	// recovery from a crash.
	Spare     bool
	NoMetrics bool      // pass nodes no metrics
	Manifest  *Manifest // of a library that does not describe itself
	// Format names the [Format] of the library; "" is a library of C nodes.
	// The child must have been given it.
	Format string
}
