package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// neighbour is what [bench.StartNeighbours] runs: it ends with its standard input, so
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
				for range 1 << 20 { // to be busy is all
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
