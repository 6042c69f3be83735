//go:build !linux

package live

func systemBackends() []Backend { return nil }

// Default is the name of the output that a program plays on if it is told none.
func Default() string { return "null" }
