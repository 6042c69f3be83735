// Package fault turns panics into errors.
//
// A panic is a fault of this program, never of its input. It must not take down what
// has nothing to do with it: a service goes on with its other models, and a command
// says what happened and where the report is. So every goroutine that runs more than
// a few lines of ours begins with
//
//	defer fault.Catch(&err)
//
// and hands err to whoever waits for it.
package fault
