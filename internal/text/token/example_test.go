package token_test

import (
	"fmt"
	"log"

	"atenia/internal/text/token"
)

// A vocabulary as a GGUF file holds it, with one merge and one control token.
func Example() {
	v := token.Vocab{
		Model:  "llama",
		Tokens: []string{"<unk>", "<s>", "▁", "h", "i", "▁h", "▁hi", "!"},
		Types:  []int32{token.TypeUnknown, token.TypeControl, 1, 1, 1, 1, 1, 1},
		Scores: []float32{0, 0, -9, -9, -9, -1, -2, -9},
		Special: map[string]int32{
			"bos": 1, "unk": 0,
		},
	}
	t, err := token.FromVocab(v)
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("hi!", true)
	fmt.Println(ids)
	fmt.Printf("%q\n", t.Decode(ids, true))
	s := t.NewStream(true)
	for _, id := range ids {
		fmt.Printf("%q ", s.Next(id))
	}
	fmt.Println()
	// Output:
	// [1 6 7]
	// "hi!"
	// "" "hi" "!"
}
