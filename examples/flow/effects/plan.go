package main

// plan is a guitarist's floor: dynamics, distortion, a tremolo, an echo whose
// repeats grow dark, and two loudspeakers.
const plan = `{"graph": {
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
