// Package memorytest tests implementations of [memory.Adapter] and provides a
// fake one.
//
//	RunAdapter   the suite that every adapter passes
//	FakeVRAM     an adapter in memory, whose calls fail on demand
package memorytest
