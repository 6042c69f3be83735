package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A noise is amplitude times a pure function of seed, row and frame.
type noise[F node.Float] struct {
	node.Reporter
	kind     string
	seed     uint64
	rows     int
	channels int
}

func newNoise[F node.Float](cfg node.Config) (node.Instance[F], error) {
	shape := cfg.Node.Rows
	return &noise[F]{node.NewReporter(cfg, 0), cfg.Settings.Word("kind"), uint64(cfg.Settings.Int("seed")), shape.B * shape.C, shape.C}, nil
}

func (s *noise[F]) Reset() {}

func (s *noise[F]) Forward(c *node.Call[F]) graph.Code {
	for r := range s.rows {
		if c.Tokens == 0 {
			break
		}
		amplitude, y := rowValuesOf(c, 0, r, s.channels), c.Out[0].Row(r)
		key := mixSeed(s.seed<<32 | uint64(r))
		switch s.kind {
		case "white":
			for i := range y {
				y[i] = F(float64(amplitude.At(i)) * uniform(mixSeed(key+uint64(c.Frame0)+uint64(i))))
			}
		case "gaussian":
			for i := range y {
				y[i] = F(float64(amplitude.At(i)) * normal(mixSeed(key+uint64(c.Frame0)+uint64(i))))
			}
		default:
			pink(y, key, uint64(c.Frame0), amplitude)
		}
	}
	node.Report(s.Reporter, c)
	return graph.Success
}

// mixSeed scrambles a counter (the finalizer of SplitMix64: Steele, Lea, Flood,
// Fast splittable pseudorandom number generators, 2014).
func mixSeed(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform returns a number in [-1, 1) from the upper 53 bits.
func uniform(z uint64) float64 { return float64(int64(z)>>11) * 0x1p-52 }

// normal returns a number of mean 0 and variance 1 (Box and Muller) from one
// hash.
func normal(z uint64) float64 {
	u := (float64(z>>32) + 0.5) * 0x1p-32
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*0x1p-32*float64(uint32(z)))
}

// octaves is the number of rows that a pink noise sums: the slowest changes
// every 32768 frames.
const octaves = 16

// pink adds rows of white noise, row k renewed every 2^k frames (Voss and
// Clarke, 1/f noise in music, 1978), for a slope of -3 dB per octave below half
// the rate. Each row's value is a hash of its own count, so that it needs no
// history.
func pink[F node.Float](y []F, key, frame uint64, amplitude rowValues[F]) {
	var value [octaves]float64
	for i := range y {
		sum := 0.0
		for k := range value {
			if at := frame + uint64(i); i == 0 || at&(1<<k-1) == 0 {
				value[k] = uniform(mixSeed(mixSeed(key+uint64(k)<<56) + at>>k))
			}
			sum += value[k]
		}
		y[i] = F(float64(amplitude.At(i)) * sum / octaves)
	}
}
