package cpu

import "time"

// Delays are how long threads were ready to run and had no processor: all of a process
// together, and of these the ones that compute, see [BeginThread].
type Delays struct{ All, Computing time.Duration }

func (d *Delays) add(n time.Duration, computing bool) {
	if d.All += n; computing {
		d.Computing += n
	}
}

// Waited returns how long threads of the process had no processor, and how long other
// programs had processors: all delays, where the system does not count that, for then each
// may be by others.
func Waited() (d Delays, taken time.Duration, known bool) {
	d, known = Delay()
	taken, counted := Taken()
	if !counted {
		taken = d.All
	}
	return d, taken, known
}
