//go:build !linux

package bench

import "os/exec"

// run runs a program, which survives if this process is killed.
func run(c *exec.Cmd) error { return c.Run() }
