package flow

// For tests outside the package.

// NewMeter is newMeter.
var NewMeter = newMeter

// ArenaOf is arenaOf.
func ArenaOf[T float32 | float64 | uint8 | int32 | uint32 | int64 | uint64](a *Arena, name string, n int) ([]T, error) {
	return arenaOf[T](a, name, n)
}
