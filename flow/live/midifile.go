package live

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"atenia/flow"
	"atenia/flow/node"
	"atenia/internal/store/durable"
)

// Bounds of what is read of a file.
const (
	MaxMIDIBytes = 64 << 20 // of the file
	MaxEvents    = 1 << 19  // channel messages and changes of tempo in all tracks
	MaxTicks     = 1 << 36  // of the longest track
	MaxPause     = 3600     // seconds between two channel messages, or before the first or after the last: few bytes can claim years
)

// ErrMIDI matches all errors of type [*MIDIError].
var ErrMIDI = errors.New("not a MIDI file")

// An MIDIError is a fault of a file.
type MIDIError struct {
	Offset int64 // in bytes
	Text   string
}

// Error implements error.
func (e *MIDIError) Error() string { return fmt.Sprintf("MIDI file: byte %d: %s", e.Offset, e.Text) }

// Is reports whether target is [ErrMIDI].
func (e *MIDIError) Is(target error) bool { return target == ErrMIDI }

// A MIDIFile is the notes and controllers of a Standard MIDI File.
type MIDIFile struct {
	Format   int // 0 or 1
	Division Division
	Events   []MIDIEvent // by tick; at one tick in the order of tracks, and of each track
	Tempos   []Tempo     // by tick
	Ticks    int64       // at which the last track ends
}

// An MIDIEvent is a channel message of a file.
type MIDIEvent struct {
	Tick  int64
	Track int
	node.Event
}

// A Tempo is a change of tempo. Before the first one a quarter note has half a second.
type Tempo struct {
	Tick    int64
	Quarter int // microseconds in a quarter note, 1 to 2^24-1
}

const defaultQuarter = 500_000

// A Division says what a tick is: a part of a quarter note, or of a frame of time code.
type Division struct {
	Quarter    int // ticks in a quarter note; 0: time code
	PerSecond  int // frames of time code: 24, 25, 29 (which means 30000/1001, drop frame) or 30
	FrameTicks int // ticks in such a frame
}

// ReadMIDI reads a file by its path.
func ReadMIDI(path string) (*MIDIFile, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	m, err := ParseMIDI(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// ParseMIDI reads a file of size bytes. Faults are of type [*MIDIError].
func ParseMIDI(r io.ReaderAt, size int64) (*MIDIFile, error) {
	if size > MaxMIDIBytes {
		return nil, &MIDIError{MaxMIDIBytes, fmt.Sprintf("%d bytes, more than %d", size, MaxMIDIBytes)}
	}
	p := &parser{r: r, size: size, f: &MIDIFile{}}
	tracks, err := p.header()
	if err != nil {
		return nil, err
	}
	for k := 0; k < tracks; {
		name, data, err := p.chunk()
		if err != nil {
			return nil, err
		}
		if name != "MTrk" {
			continue // of a later standard
		}
		t := track{parser: p, data: data, base: p.at - int64(len(data)), index: k}
		if err := t.read(); err != nil {
			return nil, err
		}
		k++
	}
	slices.SortStableFunc(p.f.Events, func(a, b MIDIEvent) int { return cmp.Compare(a.Tick, b.Tick) })
	slices.SortStableFunc(p.f.Tempos, func(a, b Tempo) int { return cmp.Compare(a.Tick, b.Tick) })
	if err := p.pauses(); err != nil {
		return nil, err
	}
	return p.f, nil
}

// pauses bounds the length of the file by its events.
func (p *parser) pauses() error {
	seconds, last := p.f.Frames(1), int64(0)
	within := func(tick int64) error {
		now := seconds(tick)
		if now-last > MaxPause {
			return &MIDIError{p.longest.at, fmt.Sprintf("a pause of %d seconds between events, more than %d: is this delta time of %d ticks damaged?", now-last, int64(MaxPause), p.longest.ticks)}
		}
		last = now
		return nil
	}
	for _, e := range p.f.Events {
		if err := within(e.Tick); err != nil {
			return err
		}
	}
	return within(p.f.Ticks)
}

// A parser goes through the chunks.
type parser struct {
	r        io.ReaderAt
	at, size int64
	f        *MIDIFile
	longest  struct{ ticks, at int64 } // delta time, and its offset
}

// chunk returns the name and the contents of the next chunk.
func (p *parser) chunk() (name string, data []byte, err error) {
	var head [8]byte
	if p.at+8 > p.size {
		return "", nil, &MIDIError{p.at, "the file ends where a chunk should begin"}
	}
	if _, err := p.r.ReadAt(head[:], p.at); err != nil && !errors.Is(err, io.EOF) {
		return "", nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[4:]))
	if n > p.size-p.at-8 {
		return "", nil, &MIDIError{p.at + 4, fmt.Sprintf("a chunk of %d bytes, and %d are left", n, p.size-p.at-8)}
	}
	data = make([]byte, n)
	if _, err := p.r.ReadAt(data, p.at+8); err != nil && !errors.Is(err, io.EOF) {
		return "", nil, err
	}
	p.at += 8 + n
	return string(head[:4]), data, nil
}

// header reads the first chunk and returns the number of tracks.
func (p *parser) header() (tracks int, err error) {
	name, h, err := p.chunk()
	switch {
	case err != nil:
		return 0, err
	case name == "RIFF":
		return 0, &MIDIError{0, "a MIDI file within RIFF (.rmi) is not read: extract it"}
	case name != "MThd" || len(h) < 6:
		return 0, &MIDIError{0, "no header MThd of 6 bytes"}
	}
	p.f.Format, tracks = int(binary.BigEndian.Uint16(h)), int(binary.BigEndian.Uint16(h[2:]))
	switch {
	case p.f.Format == 2:
		return 0, &MIDIError{8, "format 2: its sequences have no common time"}
	case p.f.Format > 2:
		return 0, &MIDIError{8, fmt.Sprintf("format %d: want 0 or 1", p.f.Format)}
	case p.f.Format == 0 && tracks != 1:
		return 0, &MIDIError{10, fmt.Sprintf("%d tracks in format 0, which has one", tracks)}
	}
	d := binary.BigEndian.Uint16(h[4:])
	if d&0x8000 == 0 {
		p.f.Division.Quarter = int(d)
	} else {
		p.f.Division.PerSecond, p.f.Division.FrameTicks = -int(int8(d>>8)), int(d&255)
	}
	if !p.f.Division.valid() {
		return 0, &MIDIError{12, fmt.Sprintf("a division of %#04x", d)}
	}
	return tracks, nil
}

func (d *Division) valid() bool {
	if d.Quarter != 0 {
		return d.Quarter > 0 && d.Quarter < 1<<15
	}
	return slices.Contains([]int{24, 25, 29, 30}, d.PerSecond) && d.FrameTicks > 0 && d.FrameTicks < 256
}

// Frames returns a function from ticks, which must not fall, to frames at a rate in frames a second, rounded to the
// nearest one.
func (f *MIDIFile) Frames(rate float64) func(tick int64) int64 {
	if f.Division.Quarter == 0 {
		perSecond := float64(f.Division.PerSecond)
		if f.Division.PerSecond == 29 {
			perSecond = 30000. / 1001
		}
		return func(tick int64) int64 {
			return nearest(float64(tick) / (perSecond * float64(f.Division.FrameTicks)) * rate)
		}
	}
	tempos, from, quarter := f.Tempos, int64(0), int64(defaultQuarter)
	whole := int64(0) // microseconds times ticks per quarter, up to from
	return func(tick int64) int64 {
		for len(tempos) > 0 && tempos[0].Tick <= tick {
			whole += (tempos[0].Tick - from) * quarter
			from, quarter, tempos = tempos[0].Tick, int64(tempos[0].Quarter), tempos[1:]
		}
		return nearest(float64(whole+(tick-from)*quarter) / (float64(f.Division.Quarter) * 1e6) * rate)
	}
}

func nearest(frame float64) int64 { return int64(math.Min(math.Round(frame), 1<<61)) }

// Cues returns the file's events as cues for a node, or for every node that takes events if to is "".
func (f *MIDIFile) Cues(rate float64, to string) []flow.Cue {
	at, all := f.Frames(rate), make([]flow.Cue, len(f.Events))
	for i, e := range f.Events {
		all[i] = flow.Cue{Frame: at(e.Tick), Node: to, Event: e.Event}
	}
	return all
}

// Length returns the frames from the start to the end of the last track.
func (f *MIDIFile) Length(rate float64) int64 { return f.Frames(rate)(f.Ticks) }
