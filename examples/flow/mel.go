package main

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
)

// showMel shows the features that a speech model computes from a sound file, of the
// demonstration when it has no name: a text map, and a picture.
func showMel(w io.Writer, preset, picture, path string) error {
	sound, rate := demonstration(), demonstrationRate
	if path != "" {
		channels, format, err := media.ReadFile[float32](path)
		if err != nil {
			return err
		}
		sound, rate = mono(channels), int(format.Rate)
	}
	f, err := features(sound, rate, preset)
	if err != nil {
		return err
	}
	if err := show(w, f); err != nil {
		return err
	}
	if picture == "" {
		return nil
	}
	return paint(picture, f)
}

// mono is the mean of the channels.
func mono(channels [][]float32) []float32 {
	x := make([]float32, len(channels[0]))
	for _, c := range channels {
		for i, v := range c {
			x[i] += v / float32(len(channels))
		}
	}
	return x
}

// features runs a sound of any rate through a graph: to the preset's rate, then
// into frames. The result is [bands, frames].
func features(sound []float32, rate int, preset string) (node.Tensor[float32], error) {
	var none node.Tensor[float32]
	s, err := media.MelPreset(preset)
	if err != nil {
		return none, err
	}
	to := int(s.SampleRate)
	up, down := to/gcd(to, rate), rate/gcd(to, rate)
	plan, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [
		{"name": "sound", "type": "Input"},
		{"name": "rate", "type": "Resample", "params": {"up": %d, "down": %d}},
		{"name": "mel", "type": "LogMel", "params": {"preset": %q}},
		{"name": "features", "type": "Probe"}
	], "edges": [
		{"source": "sound", "target": "rate"},
		{"source": "rate", "target": "mel"},
		{"source": "mel", "target": "features"}
	]}`, up, down, preset))
	if err != nil {
		return none, err
	}
	// A block is the shortest stretch of sound that is a whole number of frames.
	block := s.Hop / gcd(s.Hop, up) * down
	session, err := flow.New[float32](plan, flow.Options{SampleRate: float64(rate), BlockFrames: block})
	if err != nil {
		return none, err
	}
	defer session.Close()
	blocks := (len(sound) + block - 1) / block
	x := node.Tensor[float32]{Data: make([]float32, blocks*block), B: 1, C: 1, N: blocks * block}
	copy(x.Data, sound)
	out, err := session.Run(map[string]node.Tensor[float32]{"sound": x}, blocks)
	if err != nil {
		return none, err
	}
	return out["features"], nil
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Sizes of the map, at most; the shades from quiet to loud.
const (
	columns, lines = 76, 20
	shades         = " .:-=+*#%@"
)

// show prints a map: low bands at the bottom, each character the loudest of its
// bands and frames.
func show(w io.Writer, f node.Tensor[float32]) error {
	if f.N == 0 {
		return errors.New("the sound is shorter than a frame")
	}
	low, high := extremes(f)
	wide, tall := min(columns, f.N), min(lines, f.C)
	out := bufio.NewWriter(w)
	for line := tall - 1; line >= 0; line-- {
		for col := range wide {
			loudest := low
			for m := line * f.C / tall; m < (line+1)*f.C/tall; m++ {
				for _, v := range f.Row(m)[col*f.N/wide : (col+1)*f.N/wide] {
					loudest = max(loudest, v)
				}
			}
			out.WriteByte(shades[int(level(loudest, low, high)*float64(len(shades)-1)+0.5)])
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "%d bands, %d frames, %.2f to %.2f\n", f.C, f.N, low, high)
	return out.Flush()
}

func extremes(f node.Tensor[float32]) (low, high float32) {
	low, high = f.Data[0], f.Data[0]
	for _, v := range f.Data {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// level is the relative position of v between low and high, 0..1.
func level(v, low, high float32) float64 {
	if high <= low {
		return 0
	}
	return float64((v - low) / (high - low))
}

// paint writes a picture: a pixel a band and frame, dark to bright.
func paint(path string, f node.Tensor[float32]) error {
	low, high := extremes(f)
	img := image.NewRGBA(image.Rect(0, 0, f.N, f.C))
	for m := range f.C {
		for t, v := range f.Row(m) {
			img.Set(t, f.C-1-m, shade(level(v, low, high)))
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(file, img), file.Close())
}

// shade goes from black over violet and orange to white.
func shade(v float64) color.RGBA {
	ramp := func(from, to float64) uint8 { return uint8(255 * min(1, max(0, (v-from)/(to-from)))) }
	return color.RGBA{ramp(0.1, 0.6), ramp(0.45, 0.95), max(uint8(float64(ramp(0, 0.35))*0.55)-uint8(float64(ramp(0.35, 0.7))*0.5), ramp(0.75, 1)), 255}
}

const demonstrationRate = 44100

// demonstration is two seconds of a tone with overtones that glides from 150 Hz
// to 900 Hz, in a little noise.
func demonstration() []float32 {
	x := make([]float32, 2*demonstrationRate)
	phase, seed := 0.0, uint32(1)
	for i := range x {
		t := float64(i) / float64(len(x))
		phase += 150 * math.Pow(6, t) / demonstrationRate
		v := 0.0
		for k := 1; k <= 8; k++ {
			v += 0.2 / float64(k) * math.Sin(2*math.Pi*float64(k)*phase)
		}
		seed = seed*1664525 + 1013904223
		x[i] = float32(v*math.Sin(math.Pi*t) + 1e-3*(float64(seed>>8)/(1<<23)-1))
	}
	return x
}
