package live

import (
	"errors"
	"io"

	"atenia/flow/node"
)

// A MIDIStream makes events of the bytes that a MIDI device sends. The zero value is ready.
//
// A status byte may be left out when it repeats (running status). Real-time bytes, 0xf8 and above, may come anywhere,
// also within a message, and do not disturb it. Other system messages are skipped and end the running status; so is
// data without a status, as after a cable was plugged in within a message.
type MIDIStream struct {
	status byte // running; 0: none, data is skipped
	a      byte
	half   bool // a is the first of two data bytes
	// Skipped counts data bytes that belong to no message.
	Skipped int64
}

const (
	systemExclusive = 0xf0
	realTime        = 0xf8
	systemReset     = 0xff
)

// Next takes a byte. It returns the event that the byte completes, if any.
func (s *MIDIStream) Next(b byte) (node.Event, bool) {
	switch {
	case b == systemReset:
		s.status, s.half = 0, false
		return node.Event{}, false
	case b >= realTime:
		return node.Event{}, false
	case b >= systemExclusive:
		s.status, s.half = b, false
		return node.Event{}, false
	case b >= noteOff:
		s.status, s.half = b, false
		return node.Event{}, false
	case s.status == 0:
		s.Skipped++
		return node.Event{}, false
	case s.status >= systemExclusive: // data of a system message
		return node.Event{}, false
	case dataBytes(s.status) == 1:
		return decodeMIDI(s.status, b, 0), true
	case !s.half:
		s.a, s.half = b, true
		return node.Event{}, false
	}
	s.half = false
	return decodeMIDI(s.status, s.a, b), true
}

// LiveMIDI reads a device until it ends, and passes on each event when its last byte arrives. It returns the first error of
// post, or of r; nil at the end of r. To end it, close r.
//
//	err := midi.Live(device, func(e node.Event) error { return session.Post(flow.Cue{Event: e}) })
//
// A cue of frame 0 has always been computed, so such an event happens at the next block's first frame.
func LiveMIDI(r io.Reader, post func(node.Event) error) error {
	var s MIDIStream
	var buffer [256]byte
	for {
		n, err := r.Read(buffer[:])
		for _, b := range buffer[:n] {
			if e, ok := s.Next(b); ok {
				if err := post(e); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
