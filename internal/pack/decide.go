package pack

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/spelling"
)

// A Mode says where the packed form of weights lives.
type Mode uint8

// The modes.
const (
	Auto   Mode = iota // in memory if there is enough, else nowhere
	Off                // nowhere: weights are read as they came
	Memory             // in memory of the process
	OnDisk             // in a file that is made once and mapped from then on
)

var modeNames = []string{Auto: "auto", Off: "off", Memory: "memory", OnDisk: "disk"}

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

// A Decision says where the packed form of a model's weights lives.
type Decision struct {
	Asked, Mode Mode
	Matrices    int   // that have a packed form
	Bytes       int64 // of it
	Source      int64 // bytes of the same rows as they came
	Available   int64 // memory that could be taken; 0 = not known
	Reserve     int64 // of it, for others
	// Evict is set when memory cannot hold both forms: the source is then
	// taken out of the file system's cache, too.
	Evict   bool
	Because string
	Path    string // of the packed file
	Wrote   bool   // it was made just now
	// Fault is what is wrong with packed files that could not be used, nil if
	// nothing is.
	Fault error
}

// String is one line: the mode, the reason and the numbers.
func (d Decision) String() string {
	s := fmt.Sprintf("%s (%s): %s, %s packed from %s", d.Mode, d.Because, spelling.Count(d.Matrices, "matrix"), mib(d.Bytes), mib(d.Source))
	if d.Available > 0 {
		s += fmt.Sprintf("; %s available, %s kept free", mib(d.Available), mib(d.Reserve))
	}
	if d.Path != "" {
		s += "; " + d.Path
	}
	return s
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// decide chooses a mode for the matrices.
func decide(c Config, all []*Matrix) Decision {
	d := Decision{Asked: c.Mode, Mode: c.Mode, Available: c.Available, Reserve: c.Reserve}
	for _, m := range all {
		if n := m.packedBytes(); n > 0 {
			d.Matrices++
			d.Bytes += int64(align(n))
			row, _ := m.source.DType.RowBytes(m.source.Cols) // what has a packed form has whole rows
			d.Source += int64(m.source.Rows) * int64(row)
		}
	}
	room := d.Available - d.Reserve
	d.Evict = d.Available > 0 && room < d.Bytes+d.Source
	switch {
	case d.Mode == Off:
		d.Because = "asked for"
	case d.Matrices == 0:
		d.Mode, d.Because = Off, "no weights have a packed form"
	case d.Mode == Memory, d.Mode == OnDisk:
		d.Because = "asked for"
	case d.Available == 0:
		d.Mode, d.Because = Memory, "memory is not known to be short"
	case d.Bytes > room:
		d.Mode, d.Because = Off, "the packed form does not fit the memory"
	default:
		d.Mode, d.Because = Memory, "the packed form fits the memory"
	}
	return d
}
