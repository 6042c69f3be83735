package sample_test

import (
	"fmt"

	"atenia/internal/sample"
)

// A sequence has one sampler, which sees every token.
func Example() {
	words := []string{"a", "rose", "is", "."}
	logits := []float32{1.0, 1.5, 1.2, 0.3} // the model would compute new ones each time

	s, err := sample.New(sample.Params{PresencePenalty: 2, LogProbs: 2}, len(words))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		c, err := s.Sample(logits)
		if err != nil {
			fmt.Println(err)
			return
		}
		s.Accept(c.ID)
		fmt.Printf("%s (%.2f), of the model's own %s and %s\n", words[c.ID], c.LogProb, words[c.Top[0].ID], words[c.Top[1].ID])
	}
	// Output:
	// rose (-0.97), of the model's own rose and is
	// is (-1.27), of the model's own rose and is
	// a (-1.47), of the model's own rose and is
}

// Text that may begin a stop string is held back.
func ExampleStops() {
	s := sample.NewStops([]string{"\nUser:"})
	for _, piece := range []string{"Hello", ".\n", "Us", "ing it:\nUser", ": what"} {
		emit, stopped := s.Feed(piece)
		fmt.Printf("%q %v\n", emit, stopped)
	}
	// Output:
	// "Hello" false
	// "." false
	// "" false
	// "\nUsing it:" false
	// "" true
}
