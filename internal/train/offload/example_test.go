package offload_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"

	"atenia/internal/train/offload"
)

// A model of two layers is trained for two steps, with a stop between them.
func Example() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	layers := []offload.Layer{{Name: "body", Elements: 3}, {Name: "norm", Elements: 2, NoDecay: true}}
	ones := func(_, _ int, dst []float32) error {
		for i := range dst {
			dst[i] = 1
		}
		return nil
	}
	// A backward pass yields the gradients of the last layer first.
	backward := func(yield func(offload.Gradient, error) bool) {
		_ = yield(offload.Gradient{Layer: 1, Values: []float32{0.5, -0.5}}, nil) &&
			yield(offload.Gradient{Layer: 0, Values: []float32{1, 0, -1}}, nil)
	}
	ctx := context.Background()
	if _, err := offload.Create(context.Background(), dir, layers, offload.Config{}, ones); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		s, err := offload.Open(dir, offload.Config{}) // as after a kill
		if err != nil {
			log.Fatal(err)
		}
		note := fmt.Sprintf("batch %d", s.Steps()+1)
		r, err := s.Step(ctx, iter.Seq2[offload.Gradient, error](backward), offload.Update{LR: 0.5, Note: note})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %d bytes written, note %q\n", r.Step, r.WrittenBytes, s.Note())
	}
	s, err := offload.Open(dir, offload.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for p, err := range s.Params(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("layer %d: %x\n", p.Layer, p.Values)
	}
	// Output:
	// step 1: 70 bytes written, note "batch 1"
	// step 2: 70 bytes written, note "batch 2"
	// layer 0: 0000803f0040
	// layer 1: 00000040
}
