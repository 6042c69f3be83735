package live

import "atenia/flow/node"

// The status bytes of channel messages, without the channel.
const (
	noteOff         = 0x80
	noteOn          = 0x90
	keyPressure     = 0xa0
	controller      = 0xb0
	program         = 0xc0
	channelPressure = 0xd0
	pitchBend       = 0xe0
)

// dataBytes returns the number of data bytes of a channel message.
func dataBytes(status byte) int {
	if s := status & 0xf0; s == program || s == channelPressure {
		return 1
	}
	return 2
}

const bendCenter = 1 << 13

// decodeMIDI returns the event of a channel message. A program and a pressure of a channel have one data byte, a.
func decodeMIDI(status, a, b byte) node.Event {
	e := node.Event{Channel: status & 15, Key: a, Value: float32(b) / 127}
	switch status & 0xf0 {
	case noteOff:
		e.Kind = node.NoteOff
	case noteOn:
		if e.Kind = node.NoteOn; b == 0 {
			e.Kind = node.NoteOff
		}
	case keyPressure:
		e.Kind = node.KeyPressure
	case controller:
		e.Kind = node.Controller
	case program:
		e.Kind, e.Value = node.Program, 0
	case channelPressure:
		e.Kind, e.Key, e.Value = node.ChannelPressure, 0, float32(a)/127
	case pitchBend:
		e.Kind, e.Key, e.Value = node.PitchBend, 0, float32(int(a)|int(b)<<7-bendCenter)/bendCenter
	}
	return e
}

// encodeMIDI is the inverse of decode; data says how many bytes follow the status. Values are rounded to what MIDI can say.
func encodeMIDI(e *node.Event) (status, a, b byte, data int) {
	seven := func(v float32) byte { return byte(min(max(v*127+0.5, 0), 127)) }
	a, b = e.Key&127, seven(e.Value)
	switch e.Kind {
	case node.NoteOff:
		status = noteOff
	case node.NoteOn:
		status = noteOn
	case node.KeyPressure:
		status = keyPressure
	case node.Controller:
		status = controller
	case node.Program:
		status, b = program, 0
	case node.ChannelPressure:
		status, a, b = channelPressure, b, 0
	case node.PitchBend:
		v := int(min(max(e.Value*bendCenter+bendCenter+0.5, 0), 2*bendCenter-1))
		status, a, b = pitchBend, byte(v&127), byte(v>>7)
	default:
		return 0, 0, 0, 0
	}
	return status | e.Channel&15, a, b, dataBytes(status)
}
