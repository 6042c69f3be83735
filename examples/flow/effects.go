package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"atenia/flow/graph"
	"atenia/flow/media"
)

// writeEffects makes dry.wav, a sound that needs some, and effects.json, the plan of a chain
// of effects for it, in a folder.
func writeEffects(dir string) error {
	if _, err := graph.Parse([]byte(effectsPlan)); err != nil {
		return err
	}
	sound := pluck()
	path := filepath.Join(dir, "dry.wav")
	format := media.Format{Rate: rate, Channels: 1, Bits: 24}
	if err := media.WriteFile(path, format, func(w *media.Writer) error { return media.Write(w, [][]float64{sound}) }); err != nil {
		return err
	}
	fmt.Printf("%s: %.1f s of plucked strings\n", path, float64(len(sound))/rate)
	path = filepath.Join(dir, "effects.json")
	if err := os.WriteFile(path, []byte(effectsPlan), 0o666); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}

// pluck plays a few notes (Karplus and Strong, Digital synthesis of plucked
// string and drum timbres, 1983).
func pluck() []float64 {
	r := rand.New(rand.NewPCG(5, 8))
	out := make([]float64, 4*rate)
	for i, note := range []float64{110, 164.81, 220, 277.18, 329.63, 440, 329.63, 220} {
		string := make([]float64, int(math.Round(rate/note)))
		for k := range string {
			string[k] = r.Float64() - 0.5
		}
		start := i * rate * 2 / 5
		for k := range out[start:] {
			at, next := k%len(string), (k+1)%len(string)
			out[start+k] += 0.5 * string[at]
			string[at] = 0.4985 * (string[at] + string[next])
		}
	}
	return out
}

// effectsPlan is a guitarist's floor: dynamics, distortion, a tremolo, an echo whose
// repeats grow dark, and two loudspeakers.
const effectsPlan = `{"graph": {
  "descriptor_version": 2,
  "nodes": [
    {"name": "in", "type": "Input"},
    {"name": "squeeze", "type": "Compressor", "supports_v2": true, "params": {"threshold_db": -24, "ratio": 3, "release": 0.08, "makeup_db": 6}},
    {"name": "fuzz", "type": "WaveShaper", "supports_v2": true, "params": {"kind": "tanh", "drive": 4}},
    {"name": "tone", "type": "Biquad", "supports_v2": true, "params": {"kind": "highshelf", "f0": 3500, "gain_db": -9}},
    {"name": "wobble", "type": "LFO", "supports_v2": true, "params": {"kind": "sine", "frequency_hz": 5.5, "amplitude": 0.3}},
    {"name": "tremolo", "type": "Gain", "supports_v2": true, "params": {"gain": 0.6}},
    {"name": "echo", "type": "Mix", "supports_v2": true},
    {"name": "damp", "type": "OnePole", "supports_v2": true, "params": {"f0": 2200}},
    {"name": "repeat", "type": "Gain", "supports_v2": true, "params": {"gain": 0.45}},
    {"name": "pan", "type": "Pan", "supports_v2": true},
    {"name": "drift", "type": "LFO", "supports_v2": true, "params": {"kind": "triangle", "frequency_hz": 0.2, "amplitude": 0.5}},
    {"name": "out", "type": "Probe"}
  ],
  "edges": [
    {"source": "in", "target": "squeeze"},
    {"source": "squeeze", "target": "fuzz"},
    {"source": "fuzz", "target": "tone"},
    {"source": "tone", "target": "tremolo"},
    {"source": "wobble", "target": "tremolo.gain"},
    {"source": "tremolo", "target": "echo.in0"},
    {"source": "echo", "target": "damp"},
    {"source": "damp", "target": "repeat"},
    {"source": "repeat", "target": "echo.in1", "delay_frames": 16800},
    {"source": "echo", "target": "pan"},
    {"source": "drift", "target": "pan.pan"},
    {"source": "pan", "target": "out"}
  ]
}}
`
