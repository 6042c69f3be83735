// Synth writes the plan of a synthesizer with eight voices, and a MIDI file that it plays: README.md runs them.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"atenia/flow/graph"
	"atenia/flow/live"
	"atenia/flow/node"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("want the folder for the files")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write makes synth.json, song.mid and sweep.events in a folder.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if _, err := graph.Parse([]byte(plan)); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := song().Write(&b); err != nil {
		return err
	}
	for name, text := range map[string]string{"synth.json": plan, "song.mid": b.String(), "sweep.events": sweep} {
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
