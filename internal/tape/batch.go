package tape

import (
	"errors"
	"fmt"
)

// A Batch is some documents, their rows one after another.
type Batch struct {
	Tokens []int32
	Labels []int32 // the token that row i should predict, already shifted; negative = not counted
	Lens   []int   // rows of each document; together all rows
	// Count divides the sum of all losses; 0 = the number of counted rows.
	// Batches whose gradients are added together share the count of all.
	Count int
	// Seed seeds the dropout of low-rank pairs; 0 = no dropout.
	Seed uint64
	// Images are what a tower made of the images of documents, in the order of
	// their rows.
	Images []Image
	// Places are time, row and column of each row, for rotations by these; nil =
	// rows of a document count from 0 in all three.
	Places [][3]int32
	// Sources are the rows of an encoder that each document attends to, of models
	// with cross attention. [document][rows · width]
	Sources [][]float32
	// What the documents of an encoder are for, instead of labels: Answers has for each
	// document that is a query the one that answers it, and negative numbers for others;
	// Targets has the score that a classifier should give each. See [Temperature].
	Answers     []int32
	Targets     []float32
	Temperature float64 // 0 = the usual one
	Types       []int32 // of tokens, of pairs of texts; nil = 0
}

// An Image is rows of a batch that those of a tower take the place of. No gradient
// passes through them.
type Image struct {
	At, Len int         // rows of the batch, of one document
	Rows    []float32   // [Len, width]
	Deep    [][]float32 // of each inner layer of the tower that the decoder adds, as Rows
}

// errBatch is matched by errors about a batch.
var errBatch = errors.New("bad batch")

// A batchError describes a fault of a batch. It matches [errBatch].
type batchError struct {
	Row int // −1 = the batch as a whole
	Why string
}

func (e *batchError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("%v: %s", errBatch, e.Why)
	}
	return fmt.Sprintf("%v: row %d: %s", errBatch, e.Row, e.Why)
}

// Unwrap returns [errBatch].
func (e *batchError) Unwrap() error { return errBatch }

// Counted is the number of rows whose labels count.
func (b *Batch) Counted() (n int) {
	for _, l := range b.Labels {
		if l >= 0 {
			n++
		}
	}
	return n
}

func (b *Batch) check(vocab int) error {
	whole := func(format string, args ...any) error { return &batchError{-1, fmt.Sprintf(format, args...)} }
	if len(b.Tokens) == 0 {
		return whole("no rows")
	}
	if len(b.Labels) != len(b.Tokens) {
		return whole("%d labels for %d tokens", len(b.Labels), len(b.Tokens))
	}
	rows := 0
	for i, n := range b.Lens {
		if n < 1 || n > len(b.Tokens)-rows {
			return whole("document %d of %d has %d rows, %d are left", i, len(b.Lens), n, len(b.Tokens)-rows)
		}
		rows += n
	}
	if rows != len(b.Tokens) {
		return whole("documents have %d rows together, there are %d", rows, len(b.Tokens))
	}
	if b.Types != nil && len(b.Types) != len(b.Tokens) {
		return whole("%d token types for %d tokens", len(b.Types), len(b.Tokens))
	}
	for i, t := range b.Types {
		if t < 0 {
			return &batchError{i, fmt.Sprintf("token type %d", t)}
		}
	}
	if b.Count < 0 {
		return whole("a count of %d", b.Count)
	}
	for i, t := range b.Tokens {
		if t < 0 || int(t) >= vocab {
			return &batchError{i, fmt.Sprintf("token %d of a vocabulary of %d", t, vocab)}
		}
		if int(b.Labels[i]) >= vocab {
			return &batchError{i, fmt.Sprintf("label %d of a vocabulary of %d", b.Labels[i], vocab)}
		}
	}
	return nil
}
