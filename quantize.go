package atenia

import (
	"context"
	"errors"
	"fmt"

	"atenia/internal/convert"
	"atenia/internal/cpu"
	"atenia/internal/lora"
	"atenia/internal/quant"
)

// ParseMix reads the name of a mix, in any case: "q4_k_m", "bf16".
func ParseMix(s string) (Mix, error) { return quant.ParseMix(s) }

// Mixes returns all mixes that [Quantize] writes.
func Mixes() []Mix { return quant.Mixes() }

// QuantizeOptions choose how [Quantize] writes a model. The zero value writes
// float32.
type QuantizeOptions struct {
	Mix     Mix
	Threads int // 0 = physical cores
	// ConfigFile is the name of the configuration in a Hugging Face folder.
	// "" = config.json.
	ConfigFile string
	Adapter    string // as in [Config]: the merged model is written
	// Progress, if set, is called now and then with the bytes of tensor data
	// written so far, their total, and the tensor at work.
	Progress func(done, total int64, tensor string)
}

// A QuantizeReport says what [Quantize] wrote.
type QuantizeReport struct {
	Arch        string // general.architecture
	Mix         Mix
	Tensors     int
	Copied      int          // tensors whose values were written as they were
	SourceBytes int64        // of the tensors that were read
	TensorBytes int64        // of the tensors that were written
	FileBytes   int64        // size of the file
	Types       []TypeTotals // most bytes first
	Warnings    []string     // what may matter: rows that do not fit, losses upon losses
}

// Quantize writes a model, given as for [Open], as one GGUF file with the
// element types of a mix. The file means the same model: tokens, chat template,
// stop tokens and recommended sampling are those of the original.
//
// Tensors that have the wanted type already are copied byte for byte. The file
// appears under its name when it is whole; after an error, or when ctx ends,
// there is no trace of it.
func Quantize(ctx context.Context, in, out string, o QuantizeOptions) (QuantizeReport, error) {
	if o.Threads <= 0 {
		o.Threads = cpu.Threads()
	}
	d, err := describe(in, o.ConfigFile)
	if err != nil {
		return QuantizeReport{}, err
	}
	unmerge, err := lora.Load(d, o.Adapter)
	if err != nil {
		return QuantizeReport{}, errors.Join(err, d.Close())
	}
	defer unmerge()
	defer d.Close()
	r, err := convert.Convert(ctx, d, out, convert.Options{Mix: o.Mix, Threads: o.Threads, Progress: o.Progress})
	if err != nil {
		return QuantizeReport{}, fmt.Errorf("%s: %w", display(in), err)
	}
	q := QuantizeReport{
		Arch: r.Arch, Mix: r.Mix, Tensors: r.Tensors, Copied: r.Copied,
		SourceBytes: r.SourceBytes, TensorBytes: r.TensorBytes, FileBytes: r.FileBytes, Warnings: r.Warnings,
	}
	for _, t := range r.Types {
		q.Types = append(q.Types, TypeTotals(t))
	}
	return q, nil
}
