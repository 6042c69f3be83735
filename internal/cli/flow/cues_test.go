package flow

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/flow/live"
	"atenia/flow/node"
)

// synth is a plan that plays notes.
const synth = `{"nodes": [{"name": "keys", "type": "Notes", "params": {"voices": 4}},
	{"name": "osc", "type": "Oscillator", "params": {"channels": 4, "frequency_hz": 0, "amplitude": 0.2}},
	{"name": "vca", "type": "Gain", "params": {"gain": 0}}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "keys", "target": "osc.frequency_hz"}, {"source": "osc", "target": "vca"},
	{"source": "keys.gate", "target": "vca.gain"}, {"source": "vca", "target": "out"}]}`

// TestMIDIFile: a file is played at its frames, in any blocks; events of a file and in text mix, and the log repeats
// the run.
func TestMIDIFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	song := &live.MIDIFile{Division: live.Division{Quarter: 100}, Ticks: 150, Tempos: []live.Tempo{{Tick: 0, Quarter: 1_000_000}}}
	for i, key := range []uint8{60, 64, 67, 60} {
		song.Events = append(song.Events, live.MIDIEvent{Tick: int64(7 + 30*i), Track: i % 2, Event: node.Event{Kind: node.NoteOn, Key: key, Value: 1}})
	}
	var b bytes.Buffer
	if err := song.Write(&b); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"synth.json": synth, "song.mid": b.String(), "more.events": "@777 set osc.amplitude 0.5 20000\n\n@9000 on * 0 72 1\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	play := func(out string, args ...string) string {
		must(t, append([]string{"run", at("synth.json"), "--f64", "--bits", "64", "--float", "--out", at(out)}, args...)...)
		wave, err := os.ReadFile(at(out))
		if err != nil {
			t.Fatal(err)
		}
		return string(wave)
	}
	whole := play("a.wav", "--midi", at("song.mid"), "--events", at("more.events"), "--events-out", at("log"))
	if want := 72000 * 4 * 8; len(whole) < want || len(whole) > want+200 {
		t.Errorf("%d bytes of sound, want those of 1.5 s: %d", len(whole), want)
	}
	if other := play("b.wav", "--midi", "keys="+at("song.mid"), "--events", at("more.events"), "--block", "300", "--threads", "2"); other != whole {
		t.Error("the block size changes the sound")
	}
	if again := play("c.wav", "--events", at("log"), "--seconds", "1.5"); again != whole {
		t.Error("the log gives another sound")
	}
	if without := play("d.wav", "--midi", at("song.mid")); without == whole || len(without) != len(whole) {
		t.Error("events in text change nothing")
	}
	log, err := os.ReadFile(at("log"))
	if err != nil || !strings.Contains(string(log), "@17760 on keys 0 64 1\n") || strings.Count(string(log), "\n") != 6 {
		t.Errorf("the log is\n%s%v", log, err)
	}
	for _, bad := range [][]string{{"--midi", "osc=" + at("song.mid")}, {"--midi", at("synth.json")}, {"--midi-in", at("song.mid")}, {"--events", at("song.mid")}} {
		if _, err := call(t, append([]string{"run", at("synth.json"), "--seconds", "1", "--out", at("e.wav")}, bad...)...); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// TestMIDIDevice: bytes of a device are played in real time, and the log repeats what was heard.
func TestMIDIDevice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"synth.json": synth, "keyboard": "\x90\x3c\x7f\x40\x7f\xf8\x43\x40\xb0\x40\x7f"} {
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "run", at("synth.json"), "--realtime", "--limit", "10s", "--midi-in", at("keyboard"), "--events-out", at("log"), "--seconds", "0.3", "--out", at("a.wav"))
	must(t, "run", at("synth.json"), "--events", at("log"), "--seconds", "0.3", "--out", at("b.wav"))
	a, err := os.ReadFile(at("a.wav"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(at("b.wav"))
	if err != nil || !bytes.Equal(a, b) {
		log, _ := os.ReadFile(at("log"))
		t.Errorf("the log gives another sound (%v):\n%s", err, log)
	}
	if log, err := os.ReadFile(at("log")); err != nil || strings.Count(string(log), " on keys ") != 3 || strings.Count(string(log), "control keys 0 64 1") != 1 {
		t.Errorf("%s%v", log, err)
	}
}

// TestChangeFlag: a graph goes over to another at a frame, in any blocks; a change to itself is not heard.
func TestChangeFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"a.json": synth, "b.json": strings.Replace(synth, `"amplitude": 0.2`, `"amplitude": 0.9`, 1),
		"e": "@100 on keys 0 60 1\n@9000 on keys 0 64 1\n", "late.json": strings.Replace(synth, `"target": "out"}`, `"target": "out", "delay_frames": 9}`, 1)} {
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	play := func(args ...string) string {
		must(t, append([]string{"run", at("a.json"), "--events", at("e"), "--seconds", "0.5", "--f64", "--bits", "64", "--float", "--out", at("o.wav")}, args...)...)
		wave, err := os.ReadFile(at("o.wav"))
		if err != nil {
			t.Fatal(err)
		}
		return string(wave)
	}
	plain, wet := play(), play("--change", "5001="+at("b.json"), "--change", "12000="+at("a.json"))
	head := len(plain) - (24000-5001)*4*8
	if len(plain) != len(wet) || plain[:head] != wet[:head] || plain == wet {
		t.Error("the change is heard too early, or not at all")
	}
	if other := play("--change", "5001="+at("b.json"), "--change", "12000="+at("a.json"), "--block", "777"); other != wet {
		t.Error("the block size changes the sound")
	}
	if same := play("--change", "5001="+at("a.json"), "--fade", "0"); same != plain {
		t.Error("a change to the same graph is heard")
	}
	for _, bad := range [][]string{{"--change", "5=" + at("none")}, {"--change", at("b.json")}, {"--change", "-1=" + at("b.json")}, {"--change", "5=" + at("late.json")},
		{"--change", "5=" + at("b.json"), "--change", "6=" + at("b.json")}, {"--change", "5=" + at("b.json"), "--realtime"}} {
		if _, err := call(t, append([]string{"run", at("a.json"), "--seconds", "0.1", "--out", at("e.wav")}, bad...)...); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
