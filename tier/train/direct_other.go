//go:build !linux

package train

// directFlag is none: the system decides what it keeps in memory.
const directFlag = 0
