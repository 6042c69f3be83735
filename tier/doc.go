// Package tier decides in which memory every large tensor lives, VRAM, RAM or
// SSD, and moves it there.
//
//	Manager   residences: tier, bytes, backing; moves between tiers
//	Decide    where a tensor belongs, from the hardware and its pressures
//	Adapter   the memory of a device; [NoVRAM] where there is none
//
// It knows names and bytes, never operations. Every decision is a value with a
// reason; the same inputs give the same decisions, reasons and files, byte for
// byte.
package tier
