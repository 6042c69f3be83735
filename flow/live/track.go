package live

import "fmt"

// A track is the chunk of one.
type track struct {
	*parser
	data  []byte
	pos   int
	base  int64 // of data in the file
	index int
}

// The meta events that matter.
const (
	meta       = 0xff
	endOfTrack = 0x2f
	setTempo   = 0x51
	escape     = 0xf7 // a part of a system-exclusive message, or any bytes
)

func (t *track) fault(at int, format string, args ...any) error {
	return &MIDIError{t.base + int64(at), fmt.Sprintf("track %d: ", t.index) + fmt.Sprintf(format, args...)}
}

func (t *track) byte() (byte, error) {
	if t.pos == len(t.data) {
		return 0, t.fault(t.pos, "the track ends within an event")
	}
	t.pos++
	return t.data[t.pos-1], nil
}

// quantity reads a number of seven bits a byte, of up to four bytes.
func (t *track) quantity() (v int64, err error) {
	from := t.pos
	for range 4 {
		b, err := t.byte()
		if err != nil {
			return 0, err
		}
		if v = v<<7 | int64(b&127); b < 128 {
			return v, nil
		}
	}
	return 0, t.fault(from, "a number of more than four bytes")
}

// skip returns the next bytes, as many as a quantity says.
func (t *track) skip() ([]byte, error) {
	from := t.pos
	n, err := t.quantity()
	if err != nil {
		return nil, err
	}
	if n > int64(len(t.data)-t.pos) {
		return nil, t.fault(from, "%d bytes of an event, and %d are left of the track", n, len(t.data)-t.pos)
	}
	t.pos += int(n)
	return t.data[t.pos-int(n) : t.pos], nil
}

// read takes the events. A track may end without saying so.
func (t *track) read() error {
	var running byte
	for tick := int64(0); t.pos < len(t.data); {
		from := t.base + int64(t.pos)
		delta, err := t.quantity()
		if err != nil {
			return err
		}
		if delta > t.longest.ticks {
			t.longest.ticks, t.longest.at = delta, from
		}
		if tick += delta; tick > MaxTicks {
			return t.fault(t.pos, "more than %d ticks", int64(MaxTicks))
		}
		t.f.Ticks = max(t.f.Ticks, tick)
		status, err := t.byte()
		if err != nil {
			return err
		}
		switch {
		case status == meta:
			running = 0
			if end, err := t.meta(tick); end || err != nil {
				return err
			}
			continue
		case status == systemExclusive || status == escape:
			running = 0
			if _, err := t.skip(); err != nil {
				return err
			}
			continue
		case status >= systemExclusive:
			return t.fault(t.pos-1, "status %#02x has no place in a file", status)
		case status >= noteOff:
			running = status
		case running == 0:
			return t.fault(t.pos-1, "data %#02x without a status", status)
		default:
			t.pos-- // running status
		}
		if err := t.message(running, tick); err != nil {
			return err
		}
	}
	return nil
}

// message reads the data of a channel message.
func (t *track) message(status byte, tick int64) error {
	var d [2]byte
	for i := range dataBytes(status) {
		b, err := t.byte()
		if err != nil {
			return err
		}
		if d[i] = b; b > 127 {
			return t.fault(t.pos-1, "%#02x where data of %#02x is due", b, status)
		}
	}
	t.f.Events = append(t.f.Events, MIDIEvent{Tick: tick, Track: t.index, Event: decodeMIDI(status, d[0], d[1])})
	return t.full()
}

// meta reads a meta event, and reports whether it ends the track.
func (t *track) meta(tick int64) (end bool, err error) {
	kind, err := t.byte()
	if err != nil {
		return false, err
	}
	from := t.pos
	data, err := t.skip()
	if err != nil || kind != setTempo {
		return kind == endOfTrack, err
	}
	if len(data) != 3 {
		return false, t.fault(from, "a tempo of %d bytes, want 3", len(data))
	}
	q := int(data[0])<<16 | int(data[1])<<8 | int(data[2])
	if q == 0 {
		return false, t.fault(from, "a quarter note of no time")
	}
	t.f.Tempos = append(t.f.Tempos, Tempo{Tick: tick, Quarter: q})
	return false, t.full()
}

// full bounds the events.
func (t *track) full() error {
	if len(t.f.Events)+len(t.f.Tempos) > MaxEvents {
		return t.fault(t.pos, "more than %d events", MaxEvents)
	}
	return nil
}
