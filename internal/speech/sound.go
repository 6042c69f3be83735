package speech

import (
	"fmt"
	"io"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
)

// sampleRate is the samples of a second that the features are computed from.
const sampleRate = 16000

// ReadFile reads a WAV or FLAC file: the mean of its channels, and the samples of a second.
func ReadFile(path string) (samples []float32, rate int, err error) {
	channels, f, err := media.ReadFile[float32](path)
	return mono(channels), f.Rate, err
}

// Read is [ReadFile] for what a reader has.
func Read(r io.Reader) (samples []float32, rate int, err error) {
	s, err := media.NewStream(r)
	if err != nil {
		return nil, 0, err
	}
	channels, err := media.ReadAll[float32](s)
	return mono(channels), s.Rate, err
}

// mono returns the mean of channels of equal length.
func mono(channels [][]float32) []float32 {
	if len(channels) == 1 {
		return channels[0]
	}
	var x []float32
	for _, c := range channels {
		if x == nil {
			x = make([]float32, len(c))
		}
		for i, v := range c {
			x[i] += v / float32(len(channels))
		}
	}
	return x
}

// resample returns samples at [sampleRate] of a sound with another, through the node of
// package flow.
func resample(x []float32, rate int) ([]float32, error) {
	if rate == sampleRate || len(x) == 0 {
		return x, nil
	}
	if rate < 1000 || rate > 1<<20 {
		return nil, fmt.Errorf("a sound of %d samples a second: want 1000 to %d", rate, 1<<20)
	}
	d := gcd(sampleRate, rate)
	up, down := sampleRate/d, rate/d
	plan, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [
		{"name": "in", "type": "Input"},
		{"name": "rate", "type": "Resample", "params": {"up": %d, "down": %d}},
		{"name": "out", "type": "Probe"}
	], "edges": [{"source": "in", "target": "rate"}, {"source": "rate", "target": "out"}]}`, up, down))
	if err != nil {
		return nil, err
	}
	block := down * max(1, 8192/down)
	s, err := flow.New[float32](plan, flow.Options{SampleRate: float64(rate), BlockFrames: block})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	blocks := (len(x) + block - 1) / block
	in := node.Tensor[float32]{Data: make([]float32, blocks*block), B: 1, C: 1, N: blocks * block}
	copy(in.Data, x)
	out, err := s.Run(map[string]node.Tensor[float32]{"in": in}, blocks)
	if err != nil {
		return nil, err
	}
	end := out["out"]
	y := end.Row(0)
	return y[:min(len(y), int((int64(len(x))*int64(up)+int64(down)-1)/int64(down)))], nil
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// features returns the log-mel frames of samples at [sampleRate] followed by a window of
// silence, [frames, mels].
func features(x []float32, mels, frames int) ([]float32, error) {
	s, err := media.MelPreset("whisper")
	if err != nil {
		return nil, err
	}
	s.Mels = mels
	f, err := media.NewMelFeatures[float32](s)
	if err != nil {
		return nil, err
	}
	padded := append(x[:len(x):len(x)], make([]float32, frames*s.Hop)...)
	rows := f.Compute(nil, padded) // [mels, n]
	n := len(rows) / mels
	out := make([]float32, len(rows))
	for b := range mels {
		for i, v := range rows[b*n : (b+1)*n] {
			out[i*mels+b] = v
		}
	}
	return out, nil
}
