package atenia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"atenia/internal/model/convert"
)

// ImportanceOptions choose how [MeasureImportance] reads a text.
type ImportanceOptions struct {
	Window  int    // tokens that are computed together; 0 = 512, or the context, if that is shorter
	Dataset string // name of the text, kept in the file
	// Progress, if set, is called after every window.
	Progress func(done, total int)
}

// An ImportanceReport says what [MeasureImportance] wrote.
type ImportanceReport struct {
	Windows int
	Tokens  int
	Tensors int
}

// MeasureImportance runs a model on a text and writes an importance matrix to out:
// how large the activations are that each column of each weight matrix is
// multiplied with. With it [Quantize] keeps the columns that matter more exact;
// see [QuantizeOptions].Importance. A few hundred windows of varied text are usual.
//
// The file has llama.cpp's format, GGUF with X.in_sum2 and X.counts for each tensor
// X of the quantized file. The embedding table and the head are left out, as
// there. The model is that of [Open] with the Config, computed with activations
// in float32. The rest of the text after the last window is not used.
func MeasureImportance(ctx context.Context, path, out, text string, c *Config, o ImportanceOptions) (r *ImportanceReport, err error) {
	var cfg Config
	if c != nil {
		cfg = *c
	}
	sums := &convert.Matrix{}
	var names map[string]string // tensors of a GGUF file, by weight
	var fault error
	cfg.Precise, cfg.Pack = true, "off"
	cfg.inputs = func(weight string, expert int, rows []float32, cols int) {
		switch name := names[weight]; name {
		case "", "output.weight", "token_embd.weight":
		default:
			fault = errors.Join(fault, sums.Add(name, expert, rows, cols))
		}
	}
	m, err := Open(ctx, path, &cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	names = m.plan.compiled.Model.GGUFNames()
	tokens, err := m.Tokenize(text)
	if err != nil {
		return nil, err
	}
	window := o.Window
	if window == 0 {
		window = min(defaultWindow, m.Context())
	}
	if window < 2 || window > m.Context() {
		return nil, &ConfigError{"Window", o.Window, fmt.Sprintf("2 to %d tokens", m.Context())}
	}
	window = min(window, len(tokens))
	if window < 2 {
		return nil, &ConfigError{"text", strings.TrimSpace(text), "at least two tokens"}
	}
	start := m.beginning(tokens)
	total := len(tokens) / window
	for w := range total {
		ids := slices.Clone(tokens[w*window : (w+1)*window])
		copy(ids, start)
		if err := m.EachLogits(ctx, ids, LogitsOptions{}, func(int, []float32) {}); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(w+1, total)
		}
	}
	if fault != nil {
		return nil, fault
	}
	sums.Chunks, sums.ChunkSize = total, window
	if o.Dataset != "" {
		sums.Datasets = []string{o.Dataset}
	}
	return &ImportanceReport{total, total * window, len(sums.Tensors())}, sums.Write(out)
}
