// Command quality measures a model that tells stories:
//
//	go run -C tools ./quality                      # the embedded model
//	go run -C tools ./quality ../out               # a model's folder or file
//	go run -C tools ./quality -heldout ../heldout.jsonl -samples 200 -show 3 ../out
//
// Half of the samples continue the beginning of a story, half answer a request
// for a story about a kind of hero and a thing. Sampling is plain, from the
// whole distribution at the given temperature; equal seeds give equal samples.
//
//	hero      of all samples: name, kind and pronoun stay to the end (package tools/internal/story, Check)
//	request   of the requests: the hero is of that kind, and the thing occurs
//	ended     of all samples: the model ended by itself
//	heldout   loss on the texts of a file, lines of {"kind": …, "text": …}, in nats per byte
//
// main.go reads the flags, samples.go samples, heldout.go computes the loss.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"atenia"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("quality: ")
	var o options
	flag.IntVar(&o.samples, "samples", 200, "stories to sample")
	flag.Uint64Var(&o.seed, "seed", 1, "of the first sample; the others follow")
	temperature := flag.Float64("temp", 0.8, "temperature")
	flag.IntVar(&o.show, "show", 0, "stories to print, and as many that were found at fault")
	heldout := flag.String("heldout", "", "file of texts to compute the loss of")
	flag.Parse()
	o.temperature = float32(*temperature)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, os.Stdout, flag.Arg(0), *heldout, o); err != nil {
		log.Fatal(err)
	}
}

// contextTokens is longer than any text that is measured.
const contextTokens = 1024

// measure opens the model and prints its quality.
func measure(ctx context.Context, w io.Writer, model, heldout string, o options) error {
	m, err := atenia.Open(ctx, model, &atenia.Config{Context: contextTokens})
	if err != nil {
		return err
	}
	defer m.Close()
	q, err := sample(ctx, w, m, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "hero     %d of %d keep name, kind and pronoun: %.1f %%\n", q.hero, q.samples, percent(q.hero, q.samples))
	fmt.Fprintf(w, "request  %d of %d have kind and thing: %.1f %%\n", q.request, q.requests, percent(q.request, q.requests))
	fmt.Fprintf(w, "ended    %d of %d by themselves: %.1f %%\n", q.ended, q.samples, percent(q.ended, q.samples))
	if heldout == "" {
		return nil
	}
	all, err := heldOut(ctx, m, heldout)
	if err != nil {
		return err
	}
	for _, l := range all {
		fmt.Fprintf(w, "heldout  %s: %.4f nats per byte, %.4f per token (%d texts, %d bytes, %d tokens)\n",
			l.kind, l.nats/float64(l.bytes), l.nats/float64(l.tokens), l.texts, l.bytes, l.tokens)
	}
	return nil
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
