// Package fault turns panics into errors.
//
// A panic is a fault of this program, never of its input. It must not take down what
// has nothing to do with it: a service goes on with its other models, and a command
// says what happened and where the report is. So every goroutine that runs more than
// a few lines of ours begins with
//
//	defer fault.Catch(&err)
//
// and hands err to whoever waits for it, or is started by a [Group], whose Wait
// panics in the waiter instead. A test of package lint finds those that do neither.
//
// A mapped file is the one input that makes panics. Another program may shorten it,
// and the system then answers a read of what is gone with SIGBUS, which ends a Go
// program:
//
//	Watch    keeps the address range of a mapping, with the name of its file
//	Files    runs a function in which such a read is a panic, and returns it as a
//	         [*ChangedError] that names file and offset
//	Trap     does the first half, in goroutines that live long
//
// The runtime unwinds assembly as it does Go, so kernels need nothing but frames that
// it can read: a kernel with local memory declares NO_LOCAL_POINTERS.
package fault
