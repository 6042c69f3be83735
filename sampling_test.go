package atenia_test

import (
	"errors"
	"fmt"
	"slices"

	"atenia"
)

// Stages run in an order of one's own: here the temperature comes before the
// cut, and no penalty runs.
func ExampleSampling() {
	s := atenia.Sampling{Temperature: 0.8, TopP: 0.9, Seed: 1}
	s.Order = []atenia.Stage{atenia.StageTemperature, atenia.StageTopP}
	fmt.Println(s.Validate())

	// Repetitions cost, and the surprise stays the same, in the usual order.
	s = atenia.Sampling{Temperature: 1, DRY: atenia.DRY{Multiplier: 0.8}, Mirostat: atenia.Mirostat{Tau: 5}}
	s.Order = slices.DeleteFunc(atenia.DefaultOrder(), func(x atenia.Stage) bool { return x == atenia.StagePenalties })
	fmt.Println(s.Validate(), len(s.Order))

	s.TopP = 2
	var bad *atenia.ConfigError
	fmt.Println(errors.As(s.Validate(), &bad))
	// Output:
	// <nil>
	// <nil> 7
	// true
}
