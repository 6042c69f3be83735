package pack

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/kernel"
	"atenia/internal/spelling"
	"atenia/tensor"
)

// A Mode says where the packed form of weights is kept.
type Mode uint8

// The modes.
const (
	Auto     Mode = iota // in memory if there is enough, else not at all
	Off                  // not at all: weights are read in the file's layout
	InMemory             // in memory of the process
	OnDisk               // in a file that is written once and then mapped
)

var modeNames = []string{Auto: "auto", Off: "off", InMemory: "memory", OnDisk: "disk"}

// String returns the mode's name.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// Modes lists the names, as errors and help print them.
func Modes() string {
	n := len(modeNames) - 1
	return strings.Join(modeNames[:n], ", ") + " or " + modeNames[n]
}

// ParseMode reads a name; "" is Auto.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return Auto, nil
	}
	if i := slices.Index(modeNames, s); i >= 0 {
		return Mode(i), nil
	}
	return Auto, fmt.Errorf("packing %q is unknown, want %s", s, Modes())
}

// A Decision says where the packed form of a model's weights is kept, and why.
type Decision struct {
	Asked, Mode Mode
	Matrices    int   // with a packed form
	Bytes       int64 // of the packed form
	Source      int64 // bytes of the same rows in the file's layout
	Available   int64 // memory that can be allocated; 0 = unknown
	Reserve     int64 // memory kept free for other uses
	// Evict is set if memory cannot hold both forms: the source is then also
	// dropped from the page cache.
	Evict   bool
	Because string
	Path    string // of the packed file
	Wrote   bool   // the file was written now
	Held    int64  // bytes that were packed where they are, see [Store.OpenHeld]
	// Fault says why packed files could not be used; nil if there was no problem.
	Fault error
}

// String returns one line: the mode, the reason and the numbers.
func (d Decision) String() string {
	s := fmt.Sprintf("%s (%s)", d.Mode, d.Because)
	if d.Mode != Off || d.Because == noRoom {
		s += fmt.Sprintf(": %s, %s packed from %s", spelling.Count(d.Matrices, "matrix"), mib(d.Bytes), mib(d.Source))
	}
	if d.Available > 0 && (d.Mode != Off || d.Because == noRoom) {
		s += fmt.Sprintf("; %s available, %s kept free", mib(d.Available), mib(d.Reserve))
	}
	if d.Held > 0 {
		s += fmt.Sprintf("; %s packed where they stay in memory", mib(d.Held))
	}
	if d.Path != "" {
		s += "; " + d.Path
	}
	return s
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// noRoom is why weights are not packed that could be.
const noRoom = "the packed form does not fit the memory"

// Short reports whether weights are not packed because there is too little memory.
func (d *Decision) Short() bool { return d.Mode == Off && d.Because == noRoom }

// InPlace reports whether a matrix can be packed where it is, see [Store.OpenHeld].
func InPlace(d tensor.DType, rows, cols int) bool {
	n, err := tensor.Shape{rows, cols}.Bytes(d)
	return err == nil && rows%kernel.TileRows == 0 && n == kernel.PackedBytes(d, rows, cols)
}

// decide chooses a mode for the matrices.
func decide(c Config, all []*Matrix) Decision {
	d := Decision{Asked: c.Mode, Mode: c.Mode, Available: c.Available, Reserve: c.Reserve}
	for _, m := range all {
		if n := m.packedBytes(); n > 0 {
			d.Matrices++
			d.Bytes += int64(align(n))
			row, _ := m.source.DType.RowBytes(m.source.Cols) // a type with a packed form has whole rows
			d.Source += int64(m.source.Rows) * int64(row)
		}
	}
	room := d.Available - d.Reserve
	d.Evict = d.Available > 0 && room < d.Bytes+d.Source
	switch {
	case d.Mode == Off && c.Because != "":
		d.Because = c.Because
	case d.Mode == Off:
		d.Because = "asked for"
	case d.Matrices == 0:
		d.Mode, d.Because = Off, "no weights have a packed form"
	case d.Mode == InMemory && c.Bound && d.Bytes-d.Source > room: // in place of the files' pages, which are given back
		d.Mode, d.Because = Off, noRoom
	case d.Mode == InMemory, d.Mode == OnDisk:
		d.Because = "asked for"
	case d.Available == 0:
		d.Mode, d.Because = InMemory, "available memory is unknown"
	case d.Bytes > room, d.Evict && c.Mixture:
		d.Mode, d.Because = Off, noRoom
	default:
		d.Mode, d.Because = InMemory, "the packed form fits the memory"
	}
	return d
}
