// Command bench measures what the program itself has no command for:
//
//	go run -C tools ./bench train -size 60M                          # steps of training
//	go run -C tools ./bench train -size 300M -rows 2 -budget ram=1GiB -dir /mnt/ssd
//	go run -C tools ./bench train -json > before.json                # and later:
//	go run -C tools ./bench train -compare before.json
//
// train.go measures steps in memory: a Llama model with random weights, random tokens,
// forward, backward and AdamW, all in float32; medians of steps after two more. Its floor
// is 6·parameters·tokens, plus attention, at the rate of multiply-adds that package roof
// measured. budget.go measures a recipe of "atenia train" with bfloat16 parameters within a
// budget, its state in files.
// result.go has the one form of results and how two are compared.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"atenia"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want train, see go doc")
	}
	f := flag.NewFlagSet(args[0], flag.ExitOnError)
	asJSON := f.Bool("json", false, "print the result as JSON")
	before := f.String("compare", "", "compare with the result in a file, written by -json")
	threads := f.Int("threads", 0, "threads (0 = physical cores)")
	var measure func() (*result, error)
	switch args[0] {
	case "train":
		c := budgetConfig{}
		f.StringVar(&c.Size, "size", "5M", "model size: "+strings.Join(modelNames(), ", ")+" parameters")
		f.IntVar(&c.Rows, "rows", 8, "rows in a batch")
		f.IntVar(&c.Length, "length", 256, "tokens in a row")
		f.IntVar(&c.Steps, "steps", 5, "measured steps")
		f.BoolVar(&c.Recompute, "recompute", false, "recompute layers in the backward pass instead of keeping their outputs")
		budget := f.String("budget", "", "train in this memory, ram=SIZE, with the state in files")
		f.StringVar(&c.Dir, "dir", "", "folder for the state with -budget, removed afterwards (default: that of temporary files)")
		f.BoolVar(&c.Whole, "whole", false, "with -budget, repeat the run in memory and compare the models")
		measure = func() (*result, error) {
			c.Threads = *threads
			if *budget == "" {
				r, err := runSteps(ctx, c.config)
				return r.result(), err
			}
			b, err := atenia.ParseBudget(*budget)
			if err != nil {
				return nil, err
			}
			c.RAM = b.RAM
			r, err := runBudget(ctx, c)
			if err == nil && c.Whole && !r.Equal {
				err = errors.New("the models of the two runs differ")
			}
			return r.result(), err
		}
	default:
		return fmt.Errorf("%q is not train", args[0])
	}
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	var old *result
	if *before != "" {
		var err error
		if old, err = readResult(*before); err != nil {
			return err
		}
	}
	r, err := measure()
	if err != nil {
		return err
	}
	if *asJSON {
		return r.writeJSON(os.Stdout)
	}
	return r.write(os.Stdout, old)
}
