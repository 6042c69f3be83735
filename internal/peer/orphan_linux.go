package peer

import (
	"os/exec"
	"runtime"
	"syscall"
)

// run runs a program that the system ends when this process does, be it
// killed: a peer computes for minutes on all processors.
func run(c *exec.Cmd) error {
	// The system looks at the thread that starts the program, not at its process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c.Run()
}
