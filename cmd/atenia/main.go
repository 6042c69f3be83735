// Command atenia runs language models. See "atenia help".
package main

import (
	"os"

	"atenia/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
