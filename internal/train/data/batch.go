package data

import "atenia/internal/train/sense"

// Ignored is the label of a position that does not count towards the loss.
const Ignored int32 = -100

// A Batch is the input of one training pass: rows of tokens, one after another.
// Attention and positions are separate for each row.
type Batch struct {
	Tokens []int32
	// Labels[i] is the token that follows Tokens[i], already shifted, or
	// [Ignored].
	Labels []int32
	Lens   []int // length of each row; they sum to len(Tokens)
	// Media is what each row shows or is said in, nil where it is text alone; without
	// elements if all are.
	Media []*sense.Media
}
