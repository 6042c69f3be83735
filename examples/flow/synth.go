package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"atenia/flow/graph"
	"atenia/flow/live"
	"atenia/flow/node"
)

// writeSynth makes synth.json, the plan of a synthesizer with eight voices, song.mid, which
// it plays, and sweep.events in a folder.
func writeSynth(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if _, err := graph.Parse([]byte(synthPlan)); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := song().Write(&b); err != nil {
		return err
	}
	for name, text := range map[string]string{"synth.json": synthPlan, "song.mid": b.String(), "sweep.events": sweep} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
		fmt.Println(filepath.Join(dir, name))
	}
	return nil
}

// sweep opens the filter over two seconds, from one second on, and closes it at once.
const sweep = `@48000 set tone.f0 9000 96000
@144000 set tone.f0 600
@192000 clear tone.f0 48000
`

// song is a few chords, broken upwards while the pedal holds them, that slow down at the end.
func song() *live.MIDIFile {
	const quarter = 480
	f := &live.MIDIFile{Division: live.Division{Quarter: quarter}, Tempos: []live.Tempo{{Tick: 0, Quarter: 600_000}, {Tick: 14 * quarter, Quarter: 900_000}}}
	add := func(tick int, kind node.EventKind, key int, value float32) {
		f.Events = append(f.Events, live.MIDIEvent{Tick: int64(tick), Event: node.Event{Kind: kind, Key: uint8(key), Value: value}})
	}
	for bar, chord := range [][]int{{48, 60, 64, 67}, {45, 57, 60, 64}, {41, 57, 60, 65}, {43, 55, 59, 65}} {
		at := bar * 4 * quarter
		add(at, node.Controller, 64, 1)
		for i, k := range []int{0, 1, 2, 3, 2, 1, 2, 3} {
			add(at+i*quarter/2, node.NoteOn, chord[k], 0.5+0.06*float32(i))
			add(at+i*quarter/2+quarter/3, node.NoteOff, chord[k], 0)
		}
		add(at+4*quarter-20, node.Controller, 64, 0)
	}
	for _, key := range []int{36, 48, 60, 64, 67, 72} {
		add(16*quarter, node.NoteOn, key, 0.7)
		add(19*quarter, node.NoteOff, key, 0)
	}
	f.Ticks = 20 * quarter
	return f
}

// synthPlan is a synthesizer of eight voices: each has a band-limited saw, an envelope that its gate starts, and the
// velocity of its note. Note that all of it is made of plain nodes: a voice is a channel.
const synthPlan = `{"graph": {
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
