package data

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
	Media []*Media

	// Of examples for encoders, whose rows are texts and whose labels are all
	// [Ignored]: the type of each token, for each row the one that answers it or −1, and
	// of each row the target of a classifier. Empty if the model has none of these.
	Types   []int32
	Answers []int32
	Targets []float32
}

// Counted returns how many losses the loss of the batch is the mean of: positions with
// a label, queries with an answer, or targets.
func (b *Batch) Counted() (n int) {
	for _, l := range b.Labels {
		if l != Ignored {
			n++
		}
	}
	for _, a := range b.Answers {
		if a >= 0 {
			n++
		}
	}
	return n + len(b.Targets)
}
