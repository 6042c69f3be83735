//go:build !linux

package peer

import "os/exec"

// run runs a program, which goes on if this process is killed.
func run(c *exec.Cmd) error { return c.Run() }
