package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// startNeighbours starts processes that keep a processor busy each, as those
// of others do on a shared machine, and returns what ends them.
func startNeighbours(n int) (stop func(), err error) {
	var ends []func()
	stop = func() {
		for _, end := range ends {
			end()
		}
	}
	self, err := os.Executable()
	for i := 0; i < n && err == nil; i++ {
		c := exec.Command(self, "bench", "neighbour")
		var in io.WriteCloser
		if in, err = c.StdinPipe(); err != nil {
			break
		}
		if err = c.Start(); err == nil {
			ends = append(ends, func() {
				in.Close()
				_ = c.Wait() // it ends when its input does
			})
		}
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("--neighbours: %w", err)
	}
	return stop, nil
}

// neighbour is what startNeighbours runs: it ends with its standard input, so
// also with the process that started it.
func neighbour() *cobra.Command {
	return &cobra.Command{
		Use: "neighbour", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			done := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, c.InOrStdin())
				done <- err
			}()
			for {
				for i := range 1 << 20 {
					busy += i
				}
				select {
				case err := <-done:
					return err
				default:
				}
			}
		},
	}
}

// busy keeps the loop of a neighbour from being left out.
var busy int
