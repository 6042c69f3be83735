package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"atenia/tensor"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("randommodel: ")
	s := shapes{}
	names := strings.Join(slices.Sorted(maps.Keys(presets)), " ")
	preset := flag.String("preset", "", "shapes of a published model, one of "+names)
	dtype := flag.String("dtype", "bf16", "element type of matrices: bf16 or f16")
	seed := flag.Uint64("seed", 1, "seed of the weights")
	flag.StringVar(&s.Family, "family", "llama", "model_type: llama, qwen2 for biases of q, k and v, or the mixtures qwen3_moe and mixtral")
	flag.IntVar(&s.Hidden, "hidden", 256, "width of the residual stream")
	flag.IntVar(&s.Layers, "layers", 4, "number of layers")
	flag.IntVar(&s.Heads, "heads", 4, "query heads")
	flag.IntVar(&s.KV, "kv-heads", 0, "key and value heads (0 = as many as query heads)")
	flag.IntVar(&s.FFN, "ffn", 0, "width of the feed-forward layer (0 = three times hidden)")
	flag.IntVar(&s.Experts, "experts", 0, "experts of each layer of a mixture")
	flag.IntVar(&s.Chosen, "chosen", 2, "experts of a mixture that a token chooses")
	flag.IntVar(&s.Width, "expert-width", 0, "hidden width of an expert (0 = a quarter of ffn; mixtral: ffn)")
	flag.IntVar(&s.Vocab, "vocab", 512, "rows of the embedding table")
	flag.IntVar(&s.Context, "context", 2048, "positions")
	flag.BoolVar(&s.Tied, "tied", false, "use the embedding table as the output matrix")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: randommodel [flags] FOLDER")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *preset != "" {
		var ok bool
		if s, ok = presets[*preset]; !ok {
			log.Fatalf("unknown preset %q, want one of %s", *preset, names)
		}
	}
	d, err := tensor.ParseDType(*dtype)
	if err != nil || d != tensor.BF16 && d != tensor.F16 {
		log.Fatalf("unknown element type %q, want bf16 or f16", *dtype)
	}
	if err := write(flag.Arg(0), s, d, *seed); err != nil {
		log.Fatal(err)
	}
}
