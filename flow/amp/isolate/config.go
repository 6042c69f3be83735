package isolate

import (
	"time"

	"atenia/flow/amp/manifest"
)

// A Config says how libraries run in processes of their own.
type Config struct {
	// Command is the program and the arguments that come to [Serve]: the
	// program itself with a command of its own.
	Command []string
	// Timeout is how long a request may take; zero means 5 s. In real time it
	// is less than a block.
	Timeout time.Duration
	// Spare keeps a second child ready for each library.
	Spare     bool
	NoMetrics bool               // pass nodes no metrics
	Manifest  *manifest.Manifest // of a library that does not say itself what it has
}
