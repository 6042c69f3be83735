// Package watch tells in which foreign code a process ended.
//
// Nothing of a process runs after _exit in a library that it loaded, and little that is of use after a fault. So a
// program that is about to load libraries runs itself again, and the first process watches the second:
//
//	parent: Run                                child: Join
//	waits, shares memory (memfd) ───────────── a word and a name for each [Place]
//	SIGINT, SIGTERM ──────────────── pipe ───▶ Notify
//	                                           Enter, the call, Leave
//	the child is gone without Done? ◀───────── _exit, SIGSEGV, …
//	*EndError: the places that were entered
//
// The pipe is the only way for these signals, since a terminal sends Ctrl-C to both processes, and a second one ends a
// command at once. If the parent is killed, its end of the pipe is SIGTERM for the child.
//
// A process that is not watched has places, too, which then cost two stores. All but those needs Linux.
package watch

import "strings"

// A Place is where foreign code may run, such as the calls of a node. One thread may be there at a time.
type Place struct{ word *uint32 } // not 0: entered

// Enter is called before the foreign code. It stores a word: no allocation, no system call.
func (p *Place) Enter() { *p.word = 1 }

// Leave is called after it.
func (p *Place) Leave() { *p.word = 0 }

// An EndError says that foreign code ended the process.
type EndError struct {
	Places []string // what was entered; more than one if several threads were in foreign code; none if only others know
	Crash  bool     // by a fault
	How    string   // "exit status 3", "segmentation fault"
}

func (e *EndError) Error() string {
	where, verb := strings.Join(e.Places, " or "), " ended the process: "
	if where == "" {
		where = "something outside of the calls of nodes"
	}
	if e.Crash {
		verb = " crashed: "
	}
	return where + verb + e.How
}
