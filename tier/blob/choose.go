package blob

import "fmt"

// A Class says what the bytes of a tensor are, as far as codecs care.
type Class uint8

// The classes.
const (
	Weights16 Class = iota // bfloat16 weights
	Gradients              // maybe nearly all zero
	Dense                  // quantised weights, moments of an optimizer: nothing makes them smaller
)

// Rates are what encoding has to compete with.
type Rates struct {
	CoresFree float64 // cores that have nothing else to do while bytes are read
	ReadBytes float64 // a second, from the disk
	// DecodeBytes are a core's decoded bytes a second; 0 takes what was
	// measured on one machine.
	DecodeBytes [4]float64 // by [Codec]
}

// measuredDecode are decoded bytes a second of one core of a Xeon of 2.3 GHz:
// of gradients of which one in a hundred is not zero, and of weights.
var measuredDecode = [...]float64{None: 0, RLE: 5.9e9, Zstd: 3.1e9, PlaneHuff: 0.88e9}

// A Choice is a codec and why.
type Choice struct {
	Codec  Codec
	Ratio  float64 // of the sample; 1 for None
	Reason string
}

// Sampling: pieces from all over the data, and what they must gain.
const (
	samplePieces, sampleBytes = 8, 64 << 10
	leastRatio                = 1.1
)

// Choose decides how data is kept. An encoded file pays only if it is smaller,
// and if the cores that are free decode faster than the disk reads: otherwise
// decoding is what everybody waits for.
func Choose(data []byte, c Class, r Rates) (Choice, error) {
	candidates := map[Class][]Codec{Weights16: {PlaneHuff}, Gradients: {RLE, Zstd}}[c]
	if len(candidates) == 0 {
		return Choice{None, 1, "quantised weights and moments of an optimizer hardly get smaller"}, nil
	}
	sample := sampleOf(data)
	best := Choice{None, 1, ""}
	for _, codec := range candidates {
		rate := r.DecodeBytes[codec]
		if rate <= 0 {
			rate = measuredDecode[codec]
		}
		if rate *= r.CoresFree; rate <= r.ReadBytes {
			best.Reason = fmt.Sprintf("%.1f free cores decode %.0f MB/s of %v and the disk reads %.0f MB/s", r.CoresFree, rate/1e6, codec, r.ReadBytes/1e6)
			continue
		}
		content, err := Encode(codec, sample)
		if err != nil {
			return Choice{}, err
		}
		ratio := float64(len(sample)) / float64(max(1, len(content)))
		switch {
		case ratio >= leastRatio && ratio > best.Ratio:
			best = Choice{codec, ratio, fmt.Sprintf("a sample becomes %.2f times smaller and %.1f free cores decode %.0f MB/s, the disk reads %.0f MB/s",
				ratio, r.CoresFree, rate/1e6, r.ReadBytes/1e6)}
		case best.Codec == None:
			best.Reason = fmt.Sprintf("a sample becomes %.2f times smaller with %v, want %.2f", ratio, codec, leastRatio)
		}
	}
	return best, nil
}

func sampleOf(data []byte) []byte {
	if len(data) <= samplePieces*sampleBytes {
		return data
	}
	sample := make([]byte, 0, samplePieces*sampleBytes)
	for i := range samplePieces {
		at := (len(data) - sampleBytes) / (samplePieces - 1) * i &^ 1 // numbers stay whole
		sample = append(sample, data[at:at+sampleBytes]...)
	}
	return sample
}
