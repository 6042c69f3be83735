package signal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

// drawEvents draws events of the first tokens of a stream.
func drawEvents(r *rand.Rand, n, tokens int) []node.Event {
	all := make([]node.Event, n)
	for i := range all {
		e := &all[i]
		*e = node.Event{Offset: int32(r.IntN(tokens)), Kind: node.NoteOn, Channel: uint8(r.IntN(2)), Key: uint8(60 + r.IntN(6)), Value: 0.1 + 0.9*r.Float32()}
		switch r.IntN(8) {
		case 0, 1, 2:
			e.Kind = node.NoteOff
		case 3:
			e.Kind, e.Key, e.Value = node.Controller, []uint8{64, 64, 64, 120, 121, 123, 7}[r.IntN(7)], float32(r.IntN(2))
		case 4:
			e.Kind, e.Value = node.PitchBend, 2*r.Float32()-1
		case 5:
			e.Value = float32(r.IntN(2)) // also notes with velocity 0
		}
	}
	slices.SortStableFunc(all, func(a, b node.Event) int { return int(a.Offset - b.Offset) })
	return all
}

func TestNotesNode(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for i, params := range [][]any{{}, {"voices", 1}, {"voices", 3, "channel", 1, "bend_semitones", 12, "a4_hz", 432.0}, {"voices", 2, "a4_hz", flowtest.Ramp(1, 2, 40, 400, 450)}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			flowtest.CheckNode(t, signal.NoteTypes(), flowtest.Case{Node: flowtest.Node("Notes", params...), Events: drawEvents(r, 30, 40)})
		})
	}
}

// TestNotesRules: which voice a note takes, what the pedal holds, and when the gate is down, in text. Of each voice and
// frame it shows the key of a voice whose gate is up, a dot where it is down.
func TestNotesRules(t *testing.T) {
	on := func(at int32, key uint8) node.Event {
		return node.Event{Offset: at, Kind: node.NoteOn, Key: 57 + key, Value: 0.5}
	}
	off := func(at int32, key uint8) node.Event { return node.Event{Offset: at, Kind: node.NoteOff, Key: 57 + key} }
	pedal := func(at int32, v float32) node.Event {
		return node.Event{Offset: at, Kind: node.Controller, Key: 64, Value: v}
	}
	for _, c := range []struct {
		what   string
		events []node.Event
		want   string
		params []any
	}{
		{"voices in turn, and free ones", []node.Event{on(1, 1), on(2, 2), off(4, 1), on(6, 3)}, ".111..33 ..222222", nil},
		{"the voice that was released first", []node.Event{on(0, 1), on(1, 2), off(2, 2), off(3, 1), on(5, 3)}, "111..... .2...333", nil},
		{"a silent voice is not stolen from", []node.Event{on(0, 1), on(3, 2)}, "11111111 ...22222", nil},
		{"stealing: the oldest, whose gate is down for a frame", []node.Event{on(0, 1), on(1, 2), on(3, 3)}, "111.3333 .2222222", nil},
		{"a stolen note cannot be released", []node.Event{on(0, 1), on(1, 2), on(3, 3), off(5, 1)}, "111.3333 .2222222", nil},
		{"a key that sounds starts again in its voice", []node.Event{on(0, 1), on(1, 2), on(4, 1)}, "1111.111 .2222222", nil},
		{"on and off at one frame", []node.Event{on(2, 1), off(2, 1), on(4, 2)}, "........ ....2222", nil},
		{"the pedal holds", []node.Event{pedal(0, 1), on(1, 1), off(2, 1), on(3, 2), pedal(5, 0), off(6, 2)}, ".1111... ...222..", nil},
		{"what only the pedal holds is stolen first", []node.Event{on(0, 1), pedal(1, 1), on(1, 2), off(2, 2), on(4, 3)}, "11111111 .222.333", nil},
		{"all notes off", []node.Event{on(0, 1), on(1, 2), {Offset: 3, Kind: node.Controller, Key: 123}}, "111..... .22.....", nil},
		{"all sound off lifts the pedal's notes", []node.Event{pedal(0, 1), on(0, 1), off(1, 1), {Offset: 3, Kind: node.Controller, Key: 120}}, "111..... ........", nil},
		{"velocity 0 is a release", []node.Event{on(0, 1), {Offset: 2, Kind: node.NoteOn, Key: 58}}, "11...... ........", nil},
		{"other channels have other keys", []node.Event{on(0, 1), {Offset: 2, Kind: node.NoteOff, Key: 58, Channel: 1}}, "11111111 ........", nil},
		{"one channel of several", []node.Event{on(0, 1), {Offset: 2, Kind: node.NoteOn, Key: 59, Channel: 3, Value: 1}, {Offset: 4, Kind: node.Controller, Key: 123, Channel: 0}}, "..222222 ........", []any{"channel", 4}},
	} {
		n := flowtest.Node("Notes", append([]any{"voices", 2}, c.params...)...)
		g := flowtest.NewRig[float64](t, signal.NoteTypes(), &n, 48000, nil, 8)
		g.Events = c.events
		out := g.Forward(t, nil, []int{8})
		var rows []string
		for r := range 2 {
			row := ""
			for i, v := range out[1].Row(r) {
				if v == 0 {
					row += "."
				} else {
					row += fmt.Sprint(math.Round(12*math.Log2(out[0].Row(r)[i]/440)) + 69 - 57)
				}
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestNotesBend: pitch is equal temperament around a4_hz, with Tune and the channel's bender, and velocity stays.
func TestNotesBend(t *testing.T) {
	n := flowtest.Node("Notes", "voices", 1, "a4_hz", 442.0)
	g := flowtest.NewRig[float64](t, signal.NoteTypes(), &n, 48000, nil, 6)
	g.Events = []node.Event{{Offset: 1, Kind: node.NoteOn, Key: 60, Value: 0.25, Tune: 0.5}, {Offset: 2, Kind: node.PitchBend, Value: -1}, {Offset: 3, Kind: node.PitchBend, Channel: 1, Value: 1}, {Offset: 4, Kind: node.NoteOff, Key: 60}}
	out := g.Forward(t, nil, []int{6})
	for i, semitones := range []float64{0, -8.5, -10.5, -10.5, -10.5, -10.5} {
		if want := 442 * math.Pow(2, semitones/12); math.Abs(out[0].Data[i]-want) > 1e-9 {
			t.Errorf("frame %d: %g Hz, want %g", i, out[0].Data[i], want)
		}
	}
	if got := fmt.Sprint(out[1].Data, out[2].Data); got != "[0 1 1 1 0 0] [0 0.25 0.25 0.25 0.25 0.25]" {
		t.Errorf("gate and velocity are %s", got)
	}
}

// TestNotesKeys: while no more keys are down than there are voices, each sounds with its frequency, and nothing else.
func TestNotesKeys(t *testing.T) {
	t.Parallel()
	const tokens, voices = 400, 12
	checked := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		events := slices.DeleteFunc(drawEvents(r, 150, tokens), func(e node.Event) bool { return e.Kind > node.NoteOff })
		n := flowtest.Node("Notes", "voices", voices)
		g := flowtest.NewRig[float64](t, signal.NoteTypes(), &n, 48000, nil, tokens)
		g.Events = events
		out := g.Forward(t, nil, []int{tokens})
		down := map[[2]uint8]int{} // the frame at which each key went down
		for i := range tokens {
			for ; len(events) > 0 && int(events[0].Offset) == i; events = events[1:] {
				e := events[0]
				if delete(down, [2]uint8{e.Channel, e.Key}); e.Kind == node.NoteOn && e.Value > 0 {
					down[[2]uint8{e.Channel, e.Key}] = i
				}
			}
			var want, got []int
			for k, at := range down {
				if at < i { // the first frame may have the gate down
					want = append(want, int(k[1]))
				}
			}
			for v := range voices {
				key := int(math.Round(12*math.Log2(out[0].Row(v)[i]/440))) + 69
				if at, there := down[[2]uint8{0, uint8(key)}]; out[1].Row(v)[i] == 1 && !(there && at == i) {
					if at, there := down[[2]uint8{1, uint8(key)}]; !(there && at == i) {
						got = append(got, key)
						checked++
					}
				}
			}
			want = slices.DeleteFunc(want, func(k int) bool {
				for ch := range uint8(2) {
					if at, there := down[[2]uint8{ch, uint8(k)}]; there && at == i {
						return true
					}
				}
				return false
			})
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, frame %d: keys %v sound, want %v", seed, i, got, want)
			}
		}
	}
	if checked == 0 {
		t.Error("no note sounded")
	}
}

func Example_notes() {
	n := flowtest.Node("Notes", "voices", 4)
	spec, err := signal.NoteTypes().Describe(&n)
	fmt.Println(spec.Outs, err)
	// Output: [frequency gate velocity] <nil>
}
