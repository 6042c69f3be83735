package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"atenia/flow/live"
	"atenia/flow/node"
)

func parse(b []byte) (*live.MIDIFile, error) {
	return live.ParseMIDI(bytes.NewReader(b), int64(len(b)))
}

// chunks writes chunks of a name and contents.
func chunks(parts ...string) []byte {
	var b []byte
	for i := 0; i < len(parts); i += 2 {
		n := len(parts[i+1])
		b = append(append(b, parts[i]...), 0, 0, byte(n>>8), byte(n))
		b = append(b, parts[i+1]...)
	}
	return b
}

// example is the file of format 1 in the standard's appendix, with its running status.
var example = chunks("MThd", "\x00\x01\x00\x04\x00\x60",
	"MTrk", "\x00\xff\x58\x04\x04\x02\x18\x08\x00\xff\x51\x03\x07\xa1\x20\x83\x00\xff\x2f\x00",
	"MTrk", "\x00\xc0\x05\x81\x40\x90\x4c\x20\x81\x40\x4c\x00\x00\xff\x2f\x00",
	"MTrk", "\x00\xc1\x2e\x60\x91\x43\x40\x82\x20\x43\x00\x00\xff\x2f\x00",
	"MTrk", "\x00\xc2\x46\x00\x92\x30\x60\x00\x3c\x60\x83\x00\x30\x00\x00\x3c\x00\x00\xff\x2f\x00")

func TestStandardExample(t *testing.T) {
	f, err := parse(example)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	at := f.Frames(48000)
	for _, e := range f.Events {
		fmt.Fprintf(&b, "%d %d: %v %d %d %.3f\n", at(e.Tick), e.Track, e.Kind, e.Channel, e.Key, e.Value)
	}
	const want = `0 1: program 0 5 0.000
0 2: program 1 46 0.000
0 3: program 2 70 0.000
0 3: on 2 48 0.756
0 3: on 2 60 0.756
24000 2: on 1 67 0.504
48000 1: on 0 76 0.252
96000 1: off 0 76 0.000
96000 2: off 1 67 0.000
96000 3: off 2 48 0.000
96000 3: off 2 60 0.000
`
	if b.String() != want || f.Length(48000) != 96000 || f.Format != 1 || f.Division.Quarter != 96 {
		t.Errorf("%+v, %d frames:\n%s", f.Division, f.Length(48000), b.String())
	}
}

// TestErrors: faults name the byte. A few bytes cannot claim weeks.
func TestErrors(t *testing.T) {
	head := "\x00\x00\x00\x01\x00\x60"
	for _, c := range []struct {
		file []byte
		at   int64
		text string
	}{
		{nil, 0, "ends where a chunk"},
		{[]byte("RIFF\x00\x00\x00\x00"), 0, "RIFF"},
		{chunks("MThd", "\x00\x02\x00\x01\x00\x60"), 8, "format 2"},
		{chunks("MThd", "\x00\x00\x00\x02\x00\x60"), 10, "2 tracks in format 0"},
		{chunks("MThd", "\x00\x01\x00\x01\x00\x00"), 12, "division of 0x0000"},
		{chunks("MThd", "\x00\x01\x00\x01\xe1\x00"), 12, "division of 0xe100"},
		{chunks("MThd", head), 14, "ends where a chunk"},
		{append(chunks("MThd", head), "MTrk\x00\x00\x00\x05\x00"...), 18, "a chunk of 5 bytes, and 1 are left"},
		{chunks("MThd", head, "MTrk", "\x00\x40\x40"), 23, "data 0x40 without a status"},
		{chunks("MThd", head, "MTrk", "\x00\x90\x40"), 25, "ends within an event"},
		{chunks("MThd", head, "MTrk", "\x00\x90\x40\x90"), 25, "0x90 where data of 0x90 is due"},
		{chunks("MThd", head, "MTrk", "\x80\x80\x80\x80\x00"), 22, "more than four bytes"},
		{chunks("MThd", head, "MTrk", "\x00\xf8"), 23, "status 0xf8 has no place"},
		{chunks("MThd", head, "MTrk", "\x00\x90\x40\x40\x00\xf0\x01\xf7\x00\x40\x40"), 31, "without a status"},
		{chunks("MThd", head, "MTrk", "\x00\xff\x51\x02\x00\x00"), 25, "tempo of 2 bytes"},
		{chunks("MThd", head, "MTrk", "\x00\xff\x51\x03\x00\x00\x00"), 25, "no time"},
		{chunks("MThd", head, "MTrk", "\x00\xff\x01\x09ab"), 25, "9 bytes of an event, and 2 are left"},
		{chunks("MThd", head, "MTrk", "\x00\x90\x40\x40\xff\xff\xff\x7f\x80\x40\x40"), 26, "a pause of 1398101 seconds"},
		{chunks("MThd", head, "MTrk", "\xff\xff\xff\x7f\x90\x40\x40"), 22, "a pause of 1398101 seconds"},
		{chunks("MThd", head, "MTrk", "\x00\x90\x40\x40\xff\xff\xff\x7f\xff\x2f\x00"), 26, "a pause of 1398101 seconds"},
	} {
		f, err := parse(c.file)
		var fault *live.MIDIError
		if !errors.As(err, &fault) || !errors.Is(err, live.ErrMIDI) || fault.Offset != c.at || !strings.Contains(fault.Text, c.text) || f != nil {
			t.Errorf("%q: %v, want byte %d: %s", c.file, err, c.at, c.text)
		}
	}
	if _, err := live.ParseMIDI(bytes.NewReader(nil), live.MaxMIDIBytes+1); !errors.Is(err, live.ErrMIDI) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := live.ParseMIDI(brokenReader{broken}, 100); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) ReadAt([]byte, int64) (int, error) { return 0, b.err }

// TestTempo: frames follow the tempo map, also within a note, without adding up roundings; and time code.
func TestTempo(t *testing.T) {
	t.Parallel()
	f := &live.MIDIFile{Division: live.Division{Quarter: 480}, Tempos: []live.Tempo{{Tick: 480, Quarter: 1_000_000}, {Tick: 480, Quarter: 250_000}, {Tick: 1440, Quarter: 333_333}}}
	at := f.Frames(44100)
	for _, c := range [][2]int64{{0, 0}, {240, 11025}, {480, 22050}, {960, 33075}, {1440, 44100}, {1440 + 480*3, 44100 + 44100 - 0}} {
		if got := at(c[0]); got != c[1] {
			t.Errorf("tick %d is frame %d, want %d", c[0], got, c[1])
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 { // against sums in float64
		f := &live.MIDIFile{Division: live.Division{Quarter: 1 + r.IntN(2000)}}
		for tick := int64(0); len(f.Tempos) < 20; tick += r.Int64N(3000) {
			f.Tempos = append(f.Tempos, live.Tempo{Tick: tick, Quarter: 1 + r.IntN(1<<24-1)})
		}
		at, tick := f.Frames(96000), int64(0)
		for range 50 {
			tick += r.Int64N(2000)
			seconds, from, q := 0.0, int64(0), 500000.0
			for _, x := range f.Tempos {
				if x.Tick <= tick {
					seconds, from, q = seconds+float64(x.Tick-from)*q/float64(f.Division.Quarter)/1e6, x.Tick, float64(x.Quarter)
				}
			}
			seconds += float64(tick-from) * q / float64(f.Division.Quarter) / 1e6
			if got := at(tick); math.Abs(float64(got)-seconds*96000) > 0.5+1e-3 {
				t.Fatalf("tick %d is frame %d, want %g", tick, got, seconds*96000)
			}
		}
	}
	for _, c := range []struct {
		per  int
		want int64
	}{{24, 48000 * 100 / 24}, {25, 192000}, {29, 160160}, {30, 160000}} {
		f := &live.MIDIFile{Division: live.Division{PerSecond: c.per, FrameTicks: 80}}
		if got := f.Frames(48000)(8000); got != c.want {
			t.Errorf("100 frames of %d a second are %d frames, want %d", c.per, got, c.want)
		}
	}
}

// drawFile draws a file that can be written without loss.
func drawFile(r *rand.Rand) *live.MIDIFile {
	f := &live.MIDIFile{Format: 1, Division: live.Division{Quarter: 1 + r.IntN(1<<15-1)}}
	if r.IntN(4) == 0 {
		f.Division = live.Division{PerSecond: []int{24, 25, 29, 30}[r.IntN(4)], FrameTicks: 1 + r.IntN(255)}
	}
	for range r.IntN(40) {
		e := live.MIDIEvent{Tick: r.Int64N(1 << (1 + r.IntN(34))), Track: r.IntN(4)}
		e.Event = node.Event{Kind: node.EventKind(1 + r.IntN(7)), Channel: uint8(r.IntN(16)), Key: uint8(r.IntN(128)), Value: float32(r.IntN(127)+1) / 127}
		switch e.Kind {
		case node.Program:
			e.Value = 0
		case node.ChannelPressure:
			e.Key = 0
		case node.PitchBend:
			e.Key, e.Value = 0, float32(r.IntN(1<<14)-1<<13)/(1<<13)
		}
		f.Events = append(f.Events, e)
		f.Ticks = max(f.Ticks, e.Tick)
	}
	for range r.IntN(4) {
		f.Tempos = append(f.Tempos, live.Tempo{Tick: r.Int64N(1 << 20), Quarter: 1 + r.IntN(1<<24-1)})
		f.Ticks = max(f.Ticks, f.Tempos[len(f.Tempos)-1].Tick)
	}
	slices.SortStableFunc(f.Events, func(a, b live.MIDIEvent) int {
		if a.Tick != b.Tick {
			return int(a.Tick - b.Tick)
		}
		return a.Track - b.Track
	})
	slices.SortStableFunc(f.Tempos, func(a, b live.Tempo) int { return int(a.Tick - b.Tick) })
	return f
}

// TestWrite: what Write writes is read again.
func TestWrite(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		f := drawFile(r)
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		got, err := parse(b.Bytes())
		if err != nil && strings.Contains(err.Error(), "a pause of") && f.Length(1) > live.MaxPause {
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%q", err, b.Bytes())
		}
		if !reflect.DeepEqual(got, f) {
			t.Fatalf("%+v was read again as %+v", f, got)
		}
	}
}

// TestStream: messages from a device, with running status, real-time bytes anywhere, and all that is to be skipped.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		bytes, want string
		skipped     int64
	}{
		{"\x90\x3c\x7f\x3e\x7f\x3c\x00", "on 0 60 1, on 0 62 1, off 0 60 0", 0},
		{"\x9f\xf8\x3c\xfe\x7f\xfa", "on 15 60 1", 0},
		{"\x40\x40\x80\x40\x00", "off 0 64 0", 2},
		{"\x90\x3c\xf0\x01\x02\xf7\x7f\x90\x3c\x7f", "on 0 60 1", 0},
		{"\x90\x3c\x7f\xf0\x01\xf8\x02\x91\x3c\x7f", "on 0 60 1, on 1 60 1", 0},
		{"\x90\x3c\x7f\xf2\x01\x02\x3c\x7f", "on 0 60 1", 0},
		{"\x90\x3c\xff\x7f\xe0\x00\x40", "bend 0 0 0", 1},
		{"\xe1\x00\x00\x7f\x7f", "bend 1 0 -1, bend 1 0 0.9998779", 0},
		{"\xc2\x05\x06\xd3\x7f\xb0\x40\x7f\xa0\x3c\x00", "program 2 5 0, program 2 6 0, touch 3 0 1, control 0 64 1, pressure 0 60 0", 0},
		{"\x90\x3c\xb0\x01\x7f", "control 0 1 1", 0},
	} {
		var s live.MIDIStream
		var got []string
		for _, b := range []byte(c.bytes) {
			if e, ok := s.Next(b); ok {
				got = append(got, fmt.Sprint(e.Kind, " ", e.Channel, " ", e.Key, " ", e.Value))
			}
		}
		if text := strings.Join(got, ", "); text != c.want || s.Skipped != c.skipped {
			t.Errorf("%q: %s and %d bytes skipped, want %s and %d", c.bytes, text, s.Skipped, c.want, c.skipped)
		}
		var heard []string
		err := live.LiveMIDI(iotest.OneByteReader(strings.NewReader(c.bytes)), func(e node.Event) error {
			heard = append(heard, fmt.Sprint(e.Kind, " ", e.Channel, " ", e.Key, " ", e.Value))
			return nil
		})
		if err != nil || !slices.Equal(heard, got) {
			t.Errorf("heard: %v, %v", heard, err)
		}
	}
	stop := errors.New("stop")
	if err := live.LiveMIDI(strings.NewReader("\x90\x01\x01"), func(node.Event) error { return stop }); err != stop {
		t.Error(err)
	}
	if err := live.LiveMIDI(iotest.ErrReader(stop), nil); err != stop {
		t.Error(err)
	}
}

// FuzzFile: no file panics, faults are typed, and what is read can be written and read again.
func FuzzFile(f *testing.F) {
	f.Add(example)
	f.Add(chunks("MThd", "\x00\x00\x00\x01\xe7\x50", "xxxx", "", "MTrk", "\x00\xb0\x40\x7f\x10\xe0\x00\x40\x00\xf0\x03abc\x00\xff\x01\x02hi\x00\xd0\x11\x12\x13"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parse(b)
		if err != nil {
			if !errors.Is(err, live.ErrMIDI) {
				t.Fatal(err)
			}
			return
		}
		var again bytes.Buffer
		if err := m.Write(&again); err != nil {
			t.Fatal(err)
		}
		n, err := parse(again.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		m.Format, n.Ticks = 1, m.Ticks
		if len(n.Events) != len(m.Events) || !reflect.DeepEqual(n.Tempos, m.Tempos) {
			t.Fatalf("%+v, read again: %+v", m, n)
		}
		last := int64(0)
		for i, c := range m.Cues(48000, "") {
			if c.Frame < last || c.Event.Channel > 15 || c.Event.Key > 127 || !(c.Event.Value >= -1 && c.Event.Value <= 1) {
				t.Fatalf("event %d: %v", i, &c)
			}
			last = c.Frame
		}
	})
}

// FuzzStream: no bytes panic, and real-time bytes between them change nothing.
func FuzzStream(f *testing.F) {
	f.Add([]byte("\x90\x3c\x7f\x3e\xf8\x7f\xf0\x01\xf7"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var plain, clocked live.MIDIStream
		for _, x := range b {
			a, okA := plain.Next(x)
			clocked.Next(0xf8)
			c, okC := clocked.Next(x)
			if a != c || okA != okC || okA && (a.Channel > 15 || a.Key > 127 || !(a.Value >= -1 && a.Value <= 1)) {
				t.Fatalf("%v %v, with clocks %v %v", a, okA, c, okC)
			}
		}
	})
}

func ExampleMIDIFile_Cues() {
	f, err := live.ParseMIDI(bytes.NewReader(example), int64(len(example)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range f.Cues(48000, "synth")[5:8] {
		fmt.Println(&c)
	}
	// Output:
	// @24000 on synth 1 67 0.503937
	// @48000 on synth 0 76 0.2519685
	// @96000 off synth 0 76 0
}
