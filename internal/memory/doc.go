// Package memory decides in which memory every large tensor lives, VRAM, RAM or
// SSD, and moves it there.
//
//	Decide     where a tensor belongs, from the hardware and its memory pressure
//	Manager    residences: tier, bytes, backing; moves between tiers
//	Ledger     the bytes in each tier; a move reserves before it copies
//	Offload    which tensors to evict when a memory runs full
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
//	CPU: the tensor's work runs on the processor; its bytes stay in RAM or on SSD.
//	None: a length without bytes; moves change the tier alone.
//
// Bytes that move between VRAM and SSD pass through RAM and count against its
// budget on the way.
//
// A move has two steps. [Manager.PlanMove] says what would happen and why;
// [Manager.ApplyMove] does it, unless the tensor has changed since. A leased
// tensor is pinned: it is neither moved nor replaced. A move that fails leaves
// the tensor where it was and returns an error naming the tensor, the step and
// the cause. Failures that do not fail the call, such as a persistent copy that
// could not be written, are listed by [Manager.Health].
//
// The package knows names and bytes, never operations. Every decision is a value
// with a reason; the same inputs give the same decisions, reasons and files,
// byte for byte.
package memory
