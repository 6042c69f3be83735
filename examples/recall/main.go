// Recall trains models with the memory rules on paired associative recall with
// overwriting, and prints how often they are right.
//
//	go run ./examples/recall                    # all rules
//	go run ./examples/recall -rule DeltaRule -steps 500 -seed 2
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	name := flag.String("rule", "", "train only cases whose name begins so")
	steps := flag.Int("steps", 500, "of training")
	seed := flag.Uint64("seed", 1, "of parameters and sequences")
	flag.Parse()
	if err := run(*name, *steps, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

func run(name string, steps int, seed uint64) error {
	fmt.Printf("%-38s %9s %12s %8s\n", "rule", "accuracy", "overwritten", "seconds")
	found := false
	for _, c := range Cases() {
		if !strings.HasPrefix(c.Label, name) {
			continue
		}
		found = true
		start := time.Now()
		o := c.Options
		o.Steps, o.Seed, o.Threads = steps, seed, runtime.GOMAXPROCS(0)
		r, err := Run(o)
		if err != nil {
			return err
		}
		fmt.Printf("%-38s %9.3f %12.3f %8.1f\n", c.Label, r.Accuracy, r.Overwritten, time.Since(start).Seconds())
	}
	if !found {
		return fmt.Errorf("no case is called %q", name)
	}
	return nil
}
