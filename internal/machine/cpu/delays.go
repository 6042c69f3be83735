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
