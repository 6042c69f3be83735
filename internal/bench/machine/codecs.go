package machine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"atenia"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/quant"
	"atenia/internal/store/blob"
	"atenia/tensor"
)

// Codecs measures how much smaller codecs make the tensors of a file, and how
// many bytes a core encodes and decodes per second of processor time. It
// measures at most mib MiB of each element type, less where memory is short. For the file "" it generates
// bfloat16 weights.
func Codecs(ctx context.Context, file string, mib, repeats int) (*Report, error) {
	if most := 1 << 20; mib < 1 || mib > most || repeats < 1 {
		return nil, &atenia.ConfigError{Field: "MiB and Repeats", Got: fmt.Sprint(mib, " and ", repeats), Want: fmt.Sprintf("1 to %d and 1 or more", most)}
	}
	b, err := newReport(ctx, 1)
	if err != nil {
		return nil, err
	}
	// Beside a sample, its encoded and its decoded form are in memory, and garbage.
	const share = 8
	n := min(mib<<20, int(min(ledger.Process.Free()/share, 1<<40)))
	held, err := ledger.Process.Reserve(ledger.Samples, share/2*int64(n))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	samples := make([]sample, 1)
	if file == "" {
		samples[0], err = madeWeights(n)
	} else {
		samples, err = codecSamples(file, n)
	}
	if err != nil {
		return nil, err
	}
	results, err := runCodecs(ctx, samples, repeats)
	for _, r := range results {
		b.add(r.Name+", ratio", "x", []float64{r.Ratio})
		b.add(r.Name+", encode", "B/s", r.Encode)
		b.add(r.Name+", decode", "B/s", r.Decode)
	}
	return b, err
}

func codecSamples(path string, n int) ([]sample, error) {
	f, err := atenia.Inspect(path)
	if err != nil {
		return nil, err
	}
	tensors := make([]extent, len(f.Tensors))
	for i, t := range f.Tensors {
		tensors[i] = extent{DType: t.DType, File: t.File, Offset: t.Offset, Bytes: t.Bytes}
	}
	return readSamples(tensors, n)
}

// A sample is bytes of tensors of one element type.
type sample struct {
	DType tensor.DType
	Data  []byte
}

// A codecResult is the measurement of one codec on one sample. Rates are decoded
// bytes per second of processor time, in the order of measurement.
type codecResult struct {
	Name           string
	Ratio          float64
	Encode, Decode []float64
}

// runCodecs measures all codecs on all samples.
func runCodecs(ctx context.Context, samples []sample, repeats int) ([]codecResult, error) {
	var results []codecResult
	for i := range samples {
		s := &samples[i]
		for _, c := range blob.Codecs[1:] {
			if c == blob.PlaneHuff && s.DType != tensor.BF16 || len(s.Data) == 0 {
				continue
			}
			r := codecResult{Name: fmt.Sprintf("%v of %v", c, s.DType)}
			for range repeats {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := r.measure(c, s.Data); err != nil {
					return nil, err
				}
			}
			results = append(results, r)
		}
	}
	return results, nil
}

func (r *codecResult) measure(c blob.Codec, data []byte) error {
	rate := func(f func() error) (float64, error) {
		before, start := cpu.Time(), time.Now()
		err := f()
		d := cpu.Time() - before
		if d <= 0 { // the system does not report processor time
			d = time.Since(start)
		}
		return float64(len(data)) / d.Seconds(), err
	}
	var content []byte
	e, err := rate(func() (err error) {
		content, err = blob.Encode(c, data)
		return err
	})
	if err != nil {
		return err
	}
	d, err := rate(func() error {
		_, err := blob.Decode(c, content, uint64(len(data)))
		return err
	})
	r.Ratio = float64(len(data)) / float64(max(1, len(content)))
	r.Encode, r.Decode = append(r.Encode, e), append(r.Decode, d)
	return err
}

// rowLength is the number of synthetic weights that share a scale.
const rowLength = 4096

// madeWeights generates n bytes of bfloat16 weights, rounded down to whole rows, at
// least one.
func madeWeights(n int) (sample, error) {
	const size = 2 * rowLength
	rng := rand.New(rand.NewPCG(1, 2))
	row := make([]float32, rowLength)
	data := make([]byte, max(1, n/size)*size)
	for at := 0; at < len(data); at += size {
		scale := 0.02 * math.Exp(0.3*rng.NormFloat64())
		for i := range row {
			row[i] = float32(rng.NormFloat64() * scale)
		}
		if err := quant.Quantize(data[at:at+size], tensor.BF16, row, nil); err != nil {
			return sample{}, err
		}
	}
	return sample{tensor.BF16, data}, nil
}

// An extent locates the bytes of a tensor.
type extent struct {
	DType  tensor.DType
	File   string
	Offset int64
	Bytes  int64
}

// readSamples reads tensors in order, up to n bytes of each element type.
func readSamples(tensors []extent, n int) ([]sample, error) {
	var samples []sample
	at := map[tensor.DType]int{}
	for _, t := range tensors {
		i, ok := at[t.DType]
		if !ok {
			i = len(samples)
			at[t.DType], samples = i, append(samples, sample{DType: t.DType})
		}
		s := &samples[i]
		part := make([]byte, min(t.Bytes, int64(n-len(s.Data)))&^1)
		if err := readExtent(part, t.File, t.Offset); err != nil {
			return nil, err
		}
		s.Data = append(s.Data, part...)
	}
	return samples, nil
}

func readExtent(dst []byte, path string, off int64) error {
	if len(dst) == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(dst, off)
	return err
}
