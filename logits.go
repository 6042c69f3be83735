package atenia

import (
	"context"
	"fmt"
	"slices"

	"atenia/internal/sched"
)

// LogitsOptions say which rows of logits are wanted and how they are computed.
type LogitsOptions struct {
	All bool // a row after every token, not only after the last
	// Step computes the first Step tokens as a prompt and feeds the others one
	// by one, as if they had been generated. 0 = all at once. The rows are the
	// same either way.
	Step int
}

// Logits returns the model's logits, [rows, vocab]: one row after the last
// token, or one after each with All.
func (m *Model) Logits(ctx context.Context, tokens []int32, o LogitsOptions) ([][]float32, error) {
	var rows [][]float32
	err := m.EachLogits(ctx, tokens, o, func(_ int, logits []float32) {
		rows = append(rows, slices.Clone(logits))
	})
	return rows, err
}

// EachLogits calls f with each row of logits in order; row is the index of the
// token that the logits come after. The slice is valid during the call, and
// the model waits for it.
func (m *Model) EachLogits(ctx context.Context, tokens []int32, o LogitsOptions, f func(row int, logits []float32)) error {
	if o.Step < 0 || o.Step > len(tokens) {
		return &ConfigError{"Step", o.Step, fmt.Sprintf("0 to %d, the number of tokens", len(tokens))}
	}
	r := sched.Request{Prompt: tokens, All: o.All}
	if o.Step > 0 {
		r.Prompt, r.Forced = tokens[:o.Step], tokens[o.Step:]
	}
	r.OnLogits = func(row int, logits []float32) {
		if o.All || row == len(tokens)-1 {
			f(row, logits)
		}
	}
	st, err := m.sched.Submit(ctx, r)
	if err != nil {
		return err
	}
	st.Next()
	return st.Err()
}
