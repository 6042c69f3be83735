package engine

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/sched"
)

// A pace is how long decode passes take with the weights where they are. It keeps
// the last of them.
type pace struct {
	rows  int // of a pass that was predicted
	seen  int
	took  [128]time.Duration
	past  [128]int             // tokens of their sequences, each
	watch func(sched.StepInfo) // is told of all steps, too; nil = nobody is

	moved   bool          // weights did, so that what was predicted for them was not measured for
	offered time.Duration // to the threads of all steps, which took delay without a processor
	packing time.Duration // of passes, all threads together
	before  waited        // before these steps
	delayed func() waited // so far
}

// A waited is how long threads of the process had no processor, and how long other programs
// had processors: threads delay one another, too.
type waited struct{ delay, taken time.Duration }

// waitedOfAll is what the system tells.
func waitedOfAll() waited {
	d, taken, _ := cpu.Waited()
	return waited{d.All, taken}
}

// What a pace needs to say anything: the first passes bring weights in.
const (
	firstPasses = 2
	fewPasses   = 6
)

// step is called between two steps.
func (p *pace) step(s sched.StepInfo) {
	p.offered += time.Duration(max(1, s.Threads)) * s.Took
	if s.Decode && s.Err == nil && s.Rows == p.rows && s.Drafted == 0 {
		if p.seen >= firstPasses {
			i := (p.seen - firstPasses) % len(p.took)
			p.took[i], p.past[i] = s.Took, s.Past/max(1, s.Rows)
		}
		p.seen++
		p.packing += s.Packing
	}
	if p.watch != nil {
		p.watch(s)
	}
}

// restart forgets the passes: the weights have moved.
func (p *pace) restart() {
	p.seen, p.offered, p.packing = 0, 0, 0
	p.before = p.delayed()
}

// mostDelay is the part of their time that threads of passes wait for a processor, from
// which on passes say how busy the machine was rather than how fast it is.
const mostDelay = 0.1

// alone reports whether no other program slowed the passes, as far as the system tells:
// threads waited for others no longer than these had processors. A delay that is below the
// one before lost that of a thread that ended: then it is not known, and they count as
// slowed.
func (p *pace) alone() bool {
	now := p.delayed()
	lost := min(now.delay-p.before.delay, max(0, now.taken-p.before.taken))
	return lost >= 0 && float64(lost) <= mostDelay*float64(p.offered)
}

// packed reports whether passes packed no more of their weights than a small part: later ones
// do not.
func (p *pace) packed() bool {
	return float64(p.packing) <= mostDelay*float64(p.offered)
}

// mean returns how long a pass took, and after how many tokens of each sequence; false
// if too few were seen.
func (p *pace) mean() (took time.Duration, text int, ok bool) {
	n := min(p.seen-firstPasses, len(p.took))
	if n < fewPasses {
		return 0, 0, false
	}
	return usual(p.took[:n]), usual(p.past[:n]), true
}

// usual returns the mean without the sixteenth part on either side. A median would tell of
// passes whose experts are in memory alone, where fewer than half wait for the disk.
func usual[T ~int | ~int64](all []T) T {
	all = slices.Clone(all)
	slices.Sort(all)
	n, sum := len(all)/16, T(0)
	all = all[n : len(all)-n]
	for _, v := range all {
		sum += v
	}
	return sum / T(len(all))
}

// remember keeps how much longer passes took than was predicted for them, for
// the predictions of later runs. It does nothing for rates that the user gave, nor for
// passes that other programs slowed: the next run may be alone.
func (e *Engine) remember() {
	pl, dir := e.weights.placement, e.Plan.Config.Rules.ProfileDir
	took, text, ok := e.pace.mean()
	if !ok || dir == "" {
		return
	}
	if e.pace.moved || !e.pace.alone() || !e.pace.packed() {
		return
	}
	if pl == nil { // mapped: as if everything was held
		var err error
		if pl, err = e.Plan.footprint.Place(e.Plan.placeConfig()); err != nil || pl.RAM() > ledger.Process.Most() {
			return // what does not fit is read again and again, at a rate that nobody knows
		}
	}
	if pl.Given() {
		return
	}
	k := place.RunKind{Model: pl.Model(), Machine: machineOf(e.Plan.Config.Threads), Class: pl.ClassAs(e.Form() == formPacked)}
	if err := place.RememberRatio(dir, k, pl.Decode.Ratio(took.Seconds(), float64(text))); err != nil {
		e.Plan.Config.Logger.Warn("what this run measured is not kept", "err", err)
	}
}

// corrections are what earlier runs of the model measured on this machine.
func (c *PlaceConfig) corrections(model string) []place.Correction {
	return place.Corrections(place.RememberedRatios(c.Rules.ProfileDir, model, machineOf(c.Exec.Threads)))
}

// machineOf names the machine, and how much of it computes.
func machineOf(threads int) string {
	if threads == 0 {
		threads = cpu.Threads()
	}
	return fmt.Sprintf("%s %s, %d of %d", cpu.Name(), runtime.GOARCH, threads, runtime.NumCPU())
}
