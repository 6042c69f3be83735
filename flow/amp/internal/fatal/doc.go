// Package fatal makes a process that runs foreign code die immediately on a
// fault.
//
//	SIGSEGV, SIGBUS, …    Go's handler: a trace of all goroutines, then exit
//	after Default, Linux  the kernel ends the process, and the parent notices
package fatal
