//go:build !race

package neuron_test

// raceEnabled reports whether the race detector, which allocates, is on.
const raceEnabled = false
