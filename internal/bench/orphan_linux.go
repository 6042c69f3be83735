package bench

import (
	"os/exec"
	"runtime"
	"syscall"
)

// run runs a program that the system kills when this process dies, because a
// peer computes for minutes on all processors.
func run(c *exec.Cmd) error {
	// The kill signal is tied to the thread that starts the program, not to its
	// process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c.Run()
}
