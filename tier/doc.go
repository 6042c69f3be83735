// Package tier decides in which memory every large tensor lives, VRAM, RAM or
// SSD, and moves it there.
//
//	Decide     where a tensor belongs, from the hardware and its pressures
//	Manager    residences: tier, bytes, backing; moves between tiers
//	Ledger     the bytes in each tier; a move reserves before it copies
//	Offload    which tensors leave a memory that runs full
//	Adapter    the memory of a device; [NoVRAM] where there is none
//
// The bytes of a tensor have one backing at a time, and its tier follows from
// that:
//
//	            upload            write
//	  VRAM  <------------  RAM  ---------->  SSD  ---> persistent copy
//	 handle  ----------->  bytes <---------  file      (same file, package blob)
//	            download          read
//
//	CPU: the work, not the bytes, is the processor's; they stay in RAM or on SSD.
//	None: a length without bytes; moves change the tier alone.
//
// Between VRAM and SSD bytes pass through RAM, and count there meanwhile.
//
// A move has two halves. [Manager.PlanMove] says what would happen and why;
// [Manager.ApplyMove] does it, unless the tensor has changed since. A tensor
// that somebody works with is leased, and stays. What fails, fails before
// anything is given up: the tensor is where it was, and the error says which
// tensor, what and why. What fails on the side, such as a persistent copy, is
// in [Manager.Health].
//
// The package knows names and bytes, never operations. Every decision is a
// value with a reason; the same inputs give the same decisions, reasons and
// files, byte for byte.
package tier
