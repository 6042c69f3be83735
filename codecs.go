package atenia

import (
	"context"
	"fmt"

	"atenia/internal/codecbench"
)

// BenchCodecs measures how much smaller codecs make the tensors of a file and
// how many bytes of them a core encodes and decodes in a second of its time.
// Of each element type so many MiB are measured at most. The file "" is made
// up: bfloat16 weights.
func BenchCodecs(ctx context.Context, file string, mib, repeats int) (*HardwareBench, error) {
	if most := 1 << 20; mib < 1 || mib > most || repeats < 1 {
		return nil, &ConfigError{"MiB and Repeats", fmt.Sprint(mib, " and ", repeats), fmt.Sprintf("1 to %d and 1 or more", most)}
	}
	b, err := newHardwareBench(ctx, 1)
	if err != nil {
		return nil, err
	}
	samples := make([]codecbench.Sample, 1)
	if file == "" {
		samples[0], err = codecbench.Weights(mib << 20)
	} else {
		samples, err = codecSamples(file, mib<<20)
	}
	if err != nil {
		return nil, err
	}
	results, err := codecbench.Run(ctx, samples, repeats)
	for _, r := range results {
		b.add(r.Name+", ratio", "x", []float64{r.Ratio})
		b.add(r.Name+", encode", "B/s", r.Encode)
		b.add(r.Name+", decode", "B/s", r.Decode)
	}
	return b, err
}

func codecSamples(path string, n int) ([]codecbench.Sample, error) {
	f, err := Inspect(path)
	if err != nil {
		return nil, err
	}
	tensors := make([]codecbench.Tensor, len(f.Tensors))
	for i, t := range f.Tensors {
		tensors[i] = codecbench.Tensor{DType: t.DType, File: t.File, Offset: t.Offset, Bytes: t.Bytes}
	}
	return codecbench.Read(tensors, n)
}
