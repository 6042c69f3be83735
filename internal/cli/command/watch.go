package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"atenia/internal/machine/watch"
)

// WatchedVar is the variable that tells a process that it is watched. It is between this program and itself.
const WatchedVar = "ATENIA_WATCHED"

// Join is called first by a process that may be one which [Watched] started, with the value of [WatchedVar], and leave
// when it ends.
func Join(value string) (leave func()) {
	if value != "" {
		os.Unsetenv(WatchedVar)
		watch.Join()
	}
	return watch.Done
}

// Leave says that the process ends by its own will.
func Leave() { watch.Done() }

// Notify is signal.Notify for Ctrl-C and SIGTERM, also in a process that is watched.
func Notify(to chan<- os.Signal) { watch.Notify(to) }

// Watched runs the program again with the same arguments and environment and watches it, so that a library of others which ends it is
// named on errw. It returns the exit code, and false in the process that is watched, or where none can be: the command
// is to be run there.
func Watched(args, environ []string, errw io.Writer) (code int, ran bool) {
	if watch.Joined() {
		return 0, false
	}
	code, err := watch.Run(args, append(environ, WatchedVar+"=1"))
	if e, ok := errors.AsType[*watch.EndError](err); ok {
		fmt.Fprintf(errw, "atenia: %v\nwithout --trust, a library runs in a process of its own, and its crash costs the graph a few blocks\n", e)
		return Failure, true
	}
	return code, err == nil
}
