package flow

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/media"
	"atenia/internal/cli/command"
)

// ringing has a hold, a tail and a state.
const ringing = `{"nodes": [{"name": "in", "type": "Input"}, {"name": "low", "type": "Biquad"}, {"name": "late", "type": "Delay", "params": {"delay": 300}},
	{"name": "sum", "type": "Mix"}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "in", "target": "low"}, {"source": "low", "target": "sum.in0", "delay_frames": 70}, {"source": "in", "target": "late"}, {"source": "late", "target": "sum.in1"}, {"source": "sum", "target": "out"}]}`

// TestPlayIsRun: play records what run writes, byte for byte, at any block and period, paced by the clock or not.
func TestPlayIsRun(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(args ...string) string {
		t.Helper()
		out, _, err := both(t, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	must("run", plan(t, tone), "--seconds", "0.123", "--out", at("dry.wav"))
	p := plan(t, ringing)
	must("run", p, "--in", at("dry.wav"), "--out", at("wet.wav"))
	want, err := os.ReadFile(at("wet.wav"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		clock         string
		block, period int
	}{{"free=", 64, 0}, {"free=", 17, 100}, {"free=", 500, 3}, {"", 128, 0}} {
		null := "null"
		if c.clock != "" {
			null = "null:free"
		}
		out := must("play", p, "--in", "file:"+c.clock+at("dry.wav"), "--out", null, "--record", at("take.wav"), "--block", fmt.Sprint(c.block), "--period", fmt.Sprint(c.period), "--limit", "1m")
		if got, err := os.ReadFile(at("take.wav")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: %d bytes recorded, %d written (%v)\n%s", c, len(got), len(want), err, out)
		}
	}
}

// TestPlaySnapshot: a graph goes on from its snapshot as if it had not stopped, at any block.
func TestPlaySnapshot(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	synth := plan(t, `{"nodes": [{"name": "t", "type": "Noise"}, {"name": "d", "type": "Delay", "params": {"delay": 777}}, {"name": "m", "type": "Mix"}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "t", "target": "d"}, {"source": "t", "target": "m.in0"}, {"source": "d", "target": "m.in1", "delay_frames": 50}, {"source": "m", "target": "out"}]}`)
	samples := func(name string) []byte {
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return b[bytes.Index(b, []byte("data"))+8:]
	}
	for _, block := range []string{"64", "37"} {
		play := func(seconds, name string, more ...string) {
			t.Helper()
			args := append([]string{"play", synth, "--seconds", seconds, "--out", "null:free", "--record", at(name), "--block", block}, more...)
			if out, _, err := both(t, args...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		play("0.1", "a.wav", "--snapshot", at("state"))
		play("0.05", "b.wav", "--resume", at("state"))
		play("0.3", "all.wav")
		got, want := append(samples("a.wav"), samples("b.wav")...), samples("all.wav")
		if len(got) == 0 || len(got) > len(want) || !bytes.Equal(got, want[:len(got)]) {
			t.Errorf("block %s: %d bytes in two parts are not those of one run", block, len(got))
		}
	}
	// A file that ends leaves the state of its whole blocks.
	x := make([]float32, 3000)
	for i := range x {
		x[i] = float32(i*i%997)/997 - 0.5
	}
	echo := plan(t, `{"nodes": [{"name": "in", "type": "Input"}, {"name": "d", "type": "Delay", "params": {"delay": 7, "max_delay": 20}}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "in", "target": "d", "delay_frames": 100}, {"source": "d", "target": "out"}]}`)
	for name, part := range map[string][]float32{"whole": x, "one": x[:1990], "two": x[1984:]} {
		if err := media.WriteFile(at(name+".in.wav"), media.Format{Rate: 48000, Channels: 1}, func(w *media.Writer) error { return media.Write(w, [][]float32{part}) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range [][]string{{"whole"}, {"one", "--snapshot", at("end")}, {"two", "--resume", at("end")}} {
		out, _, err := both(t, append([]string{"play", echo, "--in", "file:free=" + at(run[0]+".in.wav"), "--out", "null:free", "--record", at(run[0] + ".wav"), "--block", "64"}, run[1:]...)...)
		if err != nil || strings.Contains(out, "before the last 6 frames") != (run[0] == "one") {
			t.Fatalf("%v: %v\n%s", run, err, out)
		}
	}
	whole, two := samples("whole.wav"), samples("two.wav")
	if len(whole) != 3000*4 || len(two) < 1000*4 || !bytes.HasSuffix(whole, two) {
		t.Errorf("%d and %d bytes: the graph does not go on from the end of a file", len(whole), len(two))
	}
	if _, _, err := both(t, "play", synth, "--out", "null:free", "--seconds", "1", "--block", "64", "--resume", at("state")); !errors.Is(err, flow.ErrState) {
		t.Errorf("a state of another block size: %v", err)
	}
}

// TestPlayUsage: what cannot be played is refused with what to do instead, and the list names every back end.
func TestPlayUsage(t *testing.T) {
	p := plan(t, ringing)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{p, "--out", "null:free"}, "node in takes a device"}, {[]string{p, "--in", "null", "--out", "nowhere:1"}, "no such audio device"},
		{[]string{p, "--in", "null:x", "--out", "null"}, "want null, null:free"}, {[]string{}, "want a graph"},
		{[]string{p, "--in", "null:free", "--out", "null:free", "--record", "a.ogg", "--seconds", "1"}, ".wav or .flac"},
		{[]string{plan(t, `{"nodes":[{"name":"s","type":"WavSource","params":{"file":"a.wav"}},{"name":"out","type":"Probe"}],"edges":[{"source":"s","target":"out"}]}`), "--out", "null"}, "reads a file"},
	} {
		_, _, err := both(t, append([]string{"play"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	out, _, err := both(t, "play", "--list")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"null", "file"} {
		if !strings.Contains(out, name) {
			t.Errorf("no %s in\n%s", name, out)
		}
	}
	_, _, err = both(t, "play", plan(t, overflow), "--out", "null:free", "--seconds", "0.02")
	if e, ok := errors.AsType[*command.ExitError](err); !ok || e.Code != command.Failure {
		t.Errorf("blocks were lost: %v", err)
	}
}
