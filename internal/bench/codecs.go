package bench

import (
	"context"
	"fmt"

	"atenia"
	"atenia/internal/bench/kernels"
)

// Codecs measures how much smaller codecs make the tensors of a file and
// how many bytes of them a core encodes and decodes in a second of its time.
// Of each element type so many MiB are measured at most. The file "" is made
// up: bfloat16 weights.
func Codecs(ctx context.Context, file string, mib, repeats int) (*MachineReport, error) {
	if most := 1 << 20; mib < 1 || mib > most || repeats < 1 {
		return nil, &atenia.ConfigError{Field: "MiB and Repeats", Got: fmt.Sprint(mib, " and ", repeats), Want: fmt.Sprintf("1 to %d and 1 or more", most)}
	}
	b, err := newMachineReport(ctx, 1)
	if err != nil {
		return nil, err
	}
	samples := make([]kernels.Sample, 1)
	if file == "" {
		samples[0], err = kernels.MadeWeights(mib << 20)
	} else {
		samples, err = codecSamples(file, mib<<20)
	}
	if err != nil {
		return nil, err
	}
	results, err := kernels.RunCodecs(ctx, samples, repeats)
	for _, r := range results {
		b.add(r.Name+", ratio", "x", []float64{r.Ratio})
		b.add(r.Name+", encode", "B/s", r.Encode)
		b.add(r.Name+", decode", "B/s", r.Decode)
	}
	return b, err
}

func codecSamples(path string, n int) ([]kernels.Sample, error) {
	f, err := atenia.Inspect(path)
	if err != nil {
		return nil, err
	}
	tensors := make([]kernels.Tensor, len(f.Tensors))
	for i, t := range f.Tensors {
		tensors[i] = kernels.Tensor{DType: t.DType, File: t.File, Offset: t.Offset, Bytes: t.Bytes}
	}
	return kernels.ReadSamples(tensors, n)
}
