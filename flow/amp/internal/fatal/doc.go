// Package fatal lets a process that runs foreign code die at once.
//
//	SIGSEGV, SIGBUS, …    Go's handler: a trace of all goroutines, then exit
//	after Default, Linux  the kernel: gone, and the parent knows
package fatal
