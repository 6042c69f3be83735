package main

// plan is a synthesizer of eight voices: each has a band-limited saw, an envelope that its gate starts, and the
// velocity of its note. Note that all of it is made of plain nodes: a voice is a channel.
const plan = `{"graph": {
  "nodes": [
    {"name": "keys", "type": "Notes", "supports_v2": true, "params": {"voices": 8}},
    {"name": "saw",  "type": "Oscillator", "supports_v2": true, "params": {"kind": "saw", "channels": 8, "frequency_hz": 0}},
    {"name": "env",  "type": "ADSR", "params": {"attack": 0.004, "decay": 0.25, "sustain": 0.4, "release": 0.3}},
    {"name": "vca",  "type": "Gain", "supports_v2": true},
    {"name": "tone", "type": "SVF", "supports_v2": true, "params": {"kind": "lowpass", "f0": 2200, "q": 0.9}},
    {"name": "sum",  "type": "Matrix", "supports_v2": true, "params": {"matrix": {"shape": [1, 1, 8], "data": [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]}}},
    {"name": "out",  "type": "Probe"}
  ],
  "edges": [
    {"source": "keys.frequency", "target": "saw.frequency_hz"},
    {"source": "keys.gate",      "target": "env"},
    {"source": "saw",            "target": "vca"},
    {"source": "env",            "target": "vca.gain", "mode": "mul"},
    {"source": "keys.velocity",  "target": "vca.gain", "mode": "mul"},
    {"source": "vca",            "target": "tone"},
    {"source": "tone",           "target": "sum"},
    {"source": "sum",            "target": "out"}
  ]
}}
`
