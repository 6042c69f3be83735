package data

// Ignored is the label of a position whose prediction is not counted.
const Ignored int32 = -100

// A Batch is what one pass computes with: rows of tokens, one after the other.
// Attention and positions stay inside each row.
type Batch struct {
	Tokens []int32
	// Labels[i] is the token that follows Tokens[i], already shifted, or
	// [Ignored].
	Labels []int32
	Lens   []int // of the rows; their sum is len(Tokens)
}
