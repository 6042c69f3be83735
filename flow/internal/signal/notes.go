package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// NoteTypes returns the table of the node that plays notes.
//
//	events ─▶ Notes ─▶ frequency [1, voices] ─▶ Oscillator.frequency_hz
//	                 ─▶ gate                  ─▶ ADSR ─▶ Gain.gain
//	                 ─▶ velocity              ─▶ Gain.gain
//
// A note takes the voice that sounds its key already, else the silent voice that was released first (at the start: the
// one of the lowest channel), else it steals a voice: of those that only the pedal holds, then of all, the one that
// started first. A voice that starts again while its gate is up has the gate down for the one frame at which it does,
// so that envelopes see the start. A voice keeps frequency and velocity after its release, for the tail.
//
// Controller 64 is the sustain pedal, 120 and 123 to 127 end all notes of a channel, 121 resets pedal and bender. Other
// controllers, pressure and programs change nothing.
func NoteTypes() node.Table {
	return node.Table{
		{Name: "Notes", Doc: "turns notes into a frequency, a gate and a velocity for each voice, with sustain pedal and bender",
			Outs: []string{"frequency", "gate", "velocity"}, Framed: []node.Default{{Name: "a4_hz", Value: 440}},
			Settings: []node.Setting{{Name: "voices", Least: 1, Most: 256, Value: 8}, {Name: "channel", Most: 16}, {Name: "bend_semitones", Most: 48, Value: 2}},
			Adjoint:  true, Refine: refineNotes, New32: newNotes[float32], New64: newNotes[float64]},
	}
}

func refineNotes(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	shape := graph.Shape{B: 1, C: s.Int("voices")}
	spec.Shapes = func([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{shape, shape, shape}, nil }
	return nil
}

// The outputs of Notes.
const (
	notesFrequency = iota
	notesGate
	notesVelocity
)

// Controllers that Notes knows.
const (
	sustainPedal     = 64
	allSoundOff      = 120
	resetControllers = 121
	allNotesOff      = 123 // and the changes of mode above it
)

// A notes is a Notes node.
type notes[F node.Float] struct {
	node.Reporter
	channel  int // 0 to 15; -1: all
	bend     float64
	voices   []noteVoice
	channels [16]noteChannel
	clock    float64 // notes and releases so far
	scratch  []F
}

// A noteVoice is one voice. Its numbers are float64, which states hold.
type noteVoice struct {
	pitch, velocity float64
	channel, key    float64
	down            float64 // 1: the key is down
	held            float64 // 1: the pedal keeps the note
	restart         float64 // 1: the gate is down for the next frame
	last            float64 // the gate of the last frame
	since           float64 // the clock when it started or, when it is silent, was released
}

// A noteChannel is what controllers of one channel said.
type noteChannel struct{ bend, sustain float64 }

func (v *noteVoice) sounds() bool { return v.down+v.held > 0 }

func newNotes[F node.Float](cfg node.Config) (node.Instance[F], error) {
	n := &notes[F]{Reporter: node.NewReporter(cfg, 0), channel: cfg.Settings.Int("channel") - 1, bend: float64(cfg.Settings.Int("bend_semitones")),
		voices: make([]noteVoice, cfg.Settings.Int("voices"))}
	if cfg.Training {
		n.scratch = make([]F, cfg.MaxTokens)
	}
	n.Reset()
	return n, nil
}

// Listen reports that the node takes events.
func (n *notes[F]) Listen() bool { return true }

// Reset releases all voices and forgets what controllers said.
func (n *notes[F]) Reset() {
	for i := range n.voices {
		n.voices[i] = noteVoice{pitch: 69}
	}
	n.channels, n.clock = [16]noteChannel{}, 0
}

func (n *notes[F]) Forward(c *node.Call[F]) graph.Code {
	n.run(c)
	node.Report(n.Reporter, c)
	return graph.Success
}

func (n *notes[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(n.Reporter, c, func() { n.run(c) })
}

// run computes the frames between events.
func (n *notes[F]) run(c *node.Call[F]) {
	at := 0
	for _, e := range c.Events.All() {
		if int(e.Offset) > at {
			n.fill(c, at, int(e.Offset))
			at = int(e.Offset)
		}
		n.take(&e)
	}
	n.fill(c, at, c.Tokens)
}

// fill computes frames [from, to).
func (n *notes[F]) fill(c *node.Call[F], from, to int) {
	if from >= to {
		return
	}
	for r := range n.voices {
		v := &n.voices[r]
		a4 := rowValuesOf(c, 0, r, len(n.voices))
		ratio := math.Exp2((v.pitch + n.channels[int(v.channel)].bend*n.bend - 69) / 12)
		f, g, w := c.Out[notesFrequency].Row(r)[from:to], c.Out[notesGate].Row(r)[from:to], c.Out[notesVelocity].Row(r)[from:to]
		gate := F(0)
		if v.sounds() {
			gate = 1
		}
		for i := range f {
			f[i], g[i], w[i] = F(float64(a4.At(from+i))*ratio), gate, F(v.velocity)
		}
		if v.restart != 0 {
			g[0], v.restart = 0, 0
		}
		v.last = float64(g[len(g)-1])
	}
}

// take handles an event.
func (n *notes[F]) take(e *node.Event) {
	if n.channel >= 0 && int(e.Channel) != n.channel {
		return
	}
	c := &n.channels[e.Channel&15]
	switch {
	case e.Kind == node.NoteOn && e.Value > 0:
		n.start(e)
	case e.Kind == node.NoteOn || e.Kind == node.NoteOff:
		n.release(e, false, c.sustain != 0)
	case e.Kind == node.PitchBend:
		c.bend = float64(e.Value)
	case e.Kind != node.Controller:
	case e.Key == sustainPedal:
		if c.sustain = 0; e.Value >= 0.5 {
			c.sustain = 1
		} else {
			n.lift(e.Channel)
		}
	case e.Key == allSoundOff:
		n.release(e, true, false)
		n.lift(e.Channel)
	case e.Key == resetControllers:
		*c = noteChannel{}
		n.lift(e.Channel)
	case e.Key >= allNotesOff:
		n.release(e, true, c.sustain != 0)
	}
}

// start begins a note.
func (n *notes[F]) start(e *node.Event) {
	v := n.choose(e)
	n.clock++
	*v = noteVoice{pitch: float64(e.Key) + float64(e.Tune), velocity: float64(e.Value), channel: float64(e.Channel), key: float64(e.Key),
		down: 1, restart: v.last, last: v.last, since: n.clock}
}

// choose finds the voice for a note, by the rules of [NoteTypes].
func (n *notes[F]) choose(e *node.Event) *noteVoice {
	var best *noteVoice
	rank := func(v *noteVoice) int {
		switch {
		case v.sounds() && v.channel == float64(e.Channel) && v.key == float64(e.Key):
			return 0
		case !v.sounds():
			return 1
		case v.down == 0:
			return 2
		}
		return 3
	}
	for i := range n.voices {
		v := &n.voices[i]
		if best == nil || rank(v) < rank(best) || rank(v) == rank(best) && v.since < best.since {
			best = v
		}
	}
	return best
}

// release ends the note of a key, or all of the channel.
func (n *notes[F]) release(e *node.Event, all, sustain bool) {
	for i := range n.voices {
		v := &n.voices[i]
		if v.down == 0 || v.channel != float64(e.Channel) || !all && v.key != float64(e.Key) {
			continue
		}
		if v.down = 0; sustain {
			v.held = 1
			continue
		}
		n.clock++
		v.since = n.clock
	}
}

// lift ends the notes that only the pedal of a channel held.
func (n *notes[F]) lift(channel uint8) {
	for i := range n.voices {
		if v := &n.voices[i]; v.channel == float64(channel) && v.held != 0 {
			if v.held = 0; v.down == 0 {
				n.clock++
				v.since = n.clock
			}
		}
	}
}

const noteVoiceNumbers = 9

func (n *notes[F]) StateBytes() int {
	return node.FloatBytes[float64](1 + 2*len(n.channels) + noteVoiceNumbers*len(n.voices))
}

func (n *notes[F]) Save(dst []byte) int {
	at := node.PutFloats(dst, []float64{n.clock})
	for _, c := range n.channels {
		at += node.PutFloats(dst[at:], []float64{c.bend, c.sustain})
	}
	for _, v := range n.voices {
		at += node.PutFloats(dst[at:], []float64{v.pitch, v.velocity, v.channel, v.key, v.down, v.held, v.restart, v.last, v.since})
	}
	return at
}

func (n *notes[F]) Load(src []byte) graph.Code {
	if len(src) != n.StateBytes() {
		return graph.State
	}
	var x [noteVoiceNumbers]float64
	take := func(k int) []float64 {
		src = src[node.GetFloats(x[:k], src):]
		return x[:k]
	}
	n.clock = take(1)[0]
	for i := range n.channels {
		c := take(2)
		n.channels[i] = noteChannel{c[0], c[1]}
	}
	for i := range n.voices {
		v := take(noteVoiceNumbers)
		if !(v[2] >= 0 && v[2] <= 15) {
			return graph.State
		}
		n.voices[i] = noteVoice{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]}
	}
	return graph.Success
}

// Needs returns the outputs: a frequency is a4_hz times a factor.
func (n *notes[F]) Needs() node.Needs { return node.NeedY }

// ResetAdjoint does nothing: no gradient goes from frame to frame.
func (n *notes[F]) ResetAdjoint() {}

// FinishAdjoint does nothing.
func (n *notes[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward computes the gradient of a4_hz. Gates and velocities do not depend on it.
func (n *notes[F]) Backward(b *node.Back[F]) graph.Code {
	for r := range n.voices {
		want := &b.DParam[0]
		if b.Tokens == 0 || want.Framed.Data == nil && want.Sum == nil {
			continue
		}
		d := n.scratch[:b.Tokens]
		a4, f, g := rowValuesOf(&b.Call, 0, r, len(n.voices)), b.Out[notesFrequency].Row(r), b.DOut[notesFrequency].Row(r)
		for i := range d {
			if d[i] = 0; a4.At(i) != 0 {
				d[i] = g[i] * F(f[i]/a4.At(i))
			}
		}
		if want.Framed.Data != nil {
			copy(want.Framed.Row(r), d)
		} else {
			want.Sum[r] = node.SumBack(want.Sum[r], d)
		}
	}
	node.Report(n.Reporter, &b.Call)
	return graph.Success
}
