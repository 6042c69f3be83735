//go:build !linux

package offload

// directFlag is 0: the system decides what it caches.
const directFlag = 0
