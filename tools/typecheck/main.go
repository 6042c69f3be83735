// Command typecheck checks that a module's packages compile on other systems, from their
// source, in seconds: nothing is compiled, as "go build" would do with the standard library
// too.
//
//	typecheck DIR OS/ARCH...
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck DIR OS/ARCH...")
		os.Exit(2)
	}
	for _, on := range os.Args[2:] {
		n, err := check(os.Args[1], on)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", on, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d packages\n", on, n)
	}
}

// check type-checks the packages in a folder and below, and all that they import, as on a
// system such as "windows/amd64". It returns how many packages the folder has.
func check(dir, on string) (int, error) {
	goos, arch, ok := strings.Cut(on, "/")
	if !ok {
		return 0, errors.New("want OS/ARCH")
	}
	ps, err := packages.Load(&packages.Config{
		Dir: dir, Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes,
	}, "./...")
	if err != nil {
		return 0, err
	}
	if n := packages.PrintErrors(ps); n > 0 {
		return 0, fmt.Errorf("%d errors", n)
	}
	return len(ps), nil
}
