package blob

import "fmt"

// Rates are the speeds that decide whether decoding is faster than reading more
// bytes.
type Rates struct {
	CoresFree float64 // cores that are idle while bytes are read
	ReadBytes float64 // disk reads, bytes per second
	// DecodeBytes is the decoded bytes per second of one core, by [Codec]; 0 uses
	// the rate measured on a reference machine.
	DecodeBytes [5]float64 // by [Codec]
}

// measuredDecode is decoded bytes per second of one core of a 2.3 GHz Xeon: RLE
// and Zstd for data with one nonzero in a hundred, PlaneHuff for weights.
var measuredDecode = [...]float64{None: 0, RLE: 5.9e9, Zstd: 3.1e9, PlaneHuff: 0.88e9, PlaneZstd: 0.7e9}

// A Choice is a codec and the reason for it.
type Choice struct {
	Codec  Codec
	Ratio  float64 // of the sample; 1 for None
	Reason string
}

// Sampling: samplePieces pieces spread over the data, and the gain they must
// show.
const (
	samplePieces, sampleBytes = 8, 64 << 10
	leastRatio                = 1.1
)

// Choose decides whether data is to be written with a codec. Encoding pays only if
// the file becomes smaller and the idle cores decode faster than the disk reads;
// otherwise decoding becomes the bottleneck.
func Choose(data []byte, codec Codec, r Rates) (Choice, error) {
	none := func(format string, args ...any) (Choice, error) {
		return Choice{None, 1, fmt.Sprintf(format, args...)}, nil
	}
	rate := r.DecodeBytes[codec]
	if rate <= 0 {
		rate = measuredDecode[codec]
	}
	if rate *= r.CoresFree; rate <= r.ReadBytes {
		return none("%.1f free cores decode %.0f MB/s of %v and the disk reads %.0f MB/s", r.CoresFree, rate/1e6, codec, r.ReadBytes/1e6)
	}
	sample := sampleOf(data)
	content, err := Encode(codec, sample)
	if err != nil {
		return Choice{}, err
	}
	ratio := float64(len(sample)) / float64(max(1, len(content)))
	if ratio < leastRatio {
		return none("a sample becomes %.2f times smaller with %v, want %.2f", ratio, codec, leastRatio)
	}
	return Choice{codec, ratio, fmt.Sprintf("a sample becomes %.2f times smaller and %.1f free cores decode %.0f MB/s, the disk reads %.0f MB/s",
		ratio, r.CoresFree, rate/1e6, r.ReadBytes/1e6)}, nil
}

func sampleOf(data []byte) []byte {
	if len(data) <= samplePieces*sampleBytes {
		return data
	}
	sample := make([]byte, 0, samplePieces*sampleBytes)
	for i := range samplePieces {
		at := (len(data) - sampleBytes) / (samplePieces - 1) * i &^ 1 // keep elements whole
		sample = append(sample, data[at:at+sampleBytes]...)
	}
	return sample
}
