package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// StartNeighbours starts processes that each keep a processor busy, as on a
// shared machine, and returns a function that ends them. With the given
// arguments this program is such a process until its standard input ends.
func StartNeighbours(n int, args ...string) (stop func(), err error) {
	var ends []func()
	stop = func() {
		for _, end := range ends {
			end()
		}
	}
	self, err := os.Executable()
	for i := 0; i < n && err == nil; i++ {
		c := exec.Command(self, args...)
		var in io.WriteCloser
		if in, err = c.StdinPipe(); err != nil {
			break
		}
		if err = c.Start(); err == nil {
			ends = append(ends, func() {
				in.Close()
				_ = c.Wait() // it exits when its input is closed
			})
		}
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("a busy neighbour: %w", err)
	}
	return stop, nil
}
