package live

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Write writes a file of format 1: the tempo map in the first track, and the events in those that their Track says,
// counted from there. Values are rounded to the 7 bits of MIDI, or 14 of a bender; Tune is lost. Events need not be in
// order of their ticks.
func (f *MIDIFile) Write(w io.Writer) error {
	d := f.Division
	if d == (Division{}) {
		d.Quarter = 480
	}
	if !d.valid() {
		return fmt.Errorf("a MIDI file cannot have the division %+v", d)
	}
	tracks := 1
	for _, e := range f.Events {
		if e.Track < 0 || e.Track > 1<<14 || e.Tick < 0 || e.Tick > MaxTicks {
			return fmt.Errorf("track %d, tick %d: out of range", e.Track, e.Tick)
		}
		tracks = max(tracks, e.Track+1)
	}
	chunks := make([]chunkWriter, tracks)
	tempos := slices.Clone(f.Tempos)
	slices.SortStableFunc(tempos, func(a, b Tempo) int { return cmp.Compare(a.Tick, b.Tick) })
	events := slices.Clone(f.Events)
	slices.SortStableFunc(events, func(a, b MIDIEvent) int { return cmp.Compare(a.Tick, b.Tick) })
	for _, e := range events {
		for e.Track == 0 && len(tempos) > 0 && tempos[0].Tick <= e.Tick {
			chunks[0].tempo(tempos[0])
			tempos = tempos[1:]
		}
		c := &chunks[e.Track]
		status, a, b, n := encodeMIDI(&e.Event)
		if n == 0 {
			return fmt.Errorf("tick %d: %v is no message of MIDI", e.Tick, e.Kind)
		}
		c.delta(e.Tick)
		c.data = append(append(c.data, status), []byte{a, b}[:n]...)
	}
	for _, t := range tempos {
		chunks[0].tempo(t)
	}
	division := uint16(d.Quarter)
	if d.Quarter == 0 {
		division = uint16(uint8(-d.PerSecond))<<8 | uint16(d.FrameTicks)
	}
	head := binary.BigEndian.AppendUint16([]byte{0, 1}, uint16(tracks))
	_, err := w.Write(chunk("MThd", binary.BigEndian.AppendUint16(head, division)))
	for i := range chunks {
		c := &chunks[i]
		end := c.at
		if i == 0 {
			end = max(end, f.Ticks)
		}
		c.delta(end)
		_, e := w.Write(chunk("MTrk", append(c.data, meta, endOfTrack, 0)))
		err = errors.Join(err, e)
	}
	return err
}

func chunk(name string, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte(name), uint32(len(data))), data...)
}

// A chunkWriter is a track to be written.
type chunkWriter struct {
	data []byte
	at   int64
}

// delta writes the time since the last event. A longer time than a number can hold is cut in pieces, with empty texts.
func (c *chunkWriter) delta(tick int64) {
	n := tick - c.at
	c.at = tick
	for ; n >= 1<<28; n -= 1<<28 - 1 {
		c.quantity(1<<28 - 1)
		c.data = append(c.data, meta, 1, 0)
	}
	c.quantity(n)
}

func (c *chunkWriter) quantity(n int64) {
	for shift := 21; shift > 0; shift -= 7 {
		if n>>shift > 0 {
			c.data = append(c.data, byte(n>>shift)&127|128)
		}
	}
	c.data = append(c.data, byte(n&127))
}

func (c *chunkWriter) tempo(t Tempo) {
	c.delta(t.Tick)
	q := min(max(t.Quarter, 1), 1<<24-1)
	c.data = append(c.data, meta, setTempo, 3, byte(q>>16), byte(q>>8), byte(q))
}
