package nested

import (
	"fmt"
	"slices"
)

// A Phase is the purpose of a step. The forward values of a step are bitwise
// the same in every phase, and memory learns in all of them.
type Phase uint8

const (
	// Build trains: it records a tape, computes gradients and steps the
	// parameters.
	Build Phase = iota
	// Test only reads and writes memory, over a finite stream.
	Test
	// Stream is Test over an endless stream.
	Stream
)

var phaseNames = [...]string{"build", "test", "stream"}

// String returns the name that configurations use.
func (p Phase) String() string { return enumName(p, phaseNames[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (p Phase) MarshalText() ([]byte, error) { return enumText(p, phaseNames[:]) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Phase) UnmarshalText(b []byte) (err error) {
	*p, err = enumOf[Phase]("phase", string(b), phaseNames[:])
	return err
}

// A Pulse says which levels learn in one step. All work of a step uses the same
// pulse, which is immutable.
type Pulse struct {
	step   int64
	phase  Phase
	levels int
	active [maxLevels / 64]uint64 // one bit per level
}

// Step returns the number of chunks before this one.
func (p Pulse) Step() int64 { return p.step }

// Phase returns the purpose of the step.
func (p Pulse) Phase() Phase { return p.phase }

// Levels returns the number of levels.
func (p Pulse) Levels() int { return p.levels }

// Active reports whether the level writes its memory and steps its parameters.
func (p Pulse) Active(level int) bool { return p.active[level/64]>>(level%64)&1 == 1 }

// String returns the step, the phase and the active levels.
func (p Pulse) String() string {
	b := make([]byte, p.levels)
	for i := range b {
		b[i] = '.'
		if p.Active(i) {
			b[i] = '#'
		}
	}
	return fmt.Sprintf("step %d %s %s", p.step, p.phase, b)
}

// A Conductor counts steps and says which levels are due in each: level l in
// every step that its period divides, so all levels in step 0.
//
// The order within a step is observe, then advance: take the [Pulse], do all of
// the work with it, and call [Conductor.Advance] last and only if the work
// succeeded. A failed step is then repeated as the same step.
type Conductor struct {
	periods []int
	step    int64
}

// NewConductor returns a conductor at step 0. Periods are in steps, one per
// level; the first must be 1 and all must be positive.
func NewConductor(periods ...int) (*Conductor, error) {
	if err := checkPeriods(periods); err != nil {
		return nil, err
	}
	return &Conductor{periods: slices.Clone(periods)}, nil
}

func checkPeriods(periods []int) error {
	if len(periods) == 0 {
		return &ConfigError{Field: "periods", Why: "want at least one level"}
	}
	if periods[0] != 1 {
		return &ConfigError{Field: "periods", Why: fmt.Sprintf("the first level learns in every step: its period is 1, not %d", periods[0])}
	}
	if len(periods) > maxLevels {
		return &ConfigError{Field: "periods", Why: fmt.Sprintf("%d levels, more than %d", len(periods), maxLevels)}
	}
	for l, c := range periods {
		if c < 1 {
			return &ConfigError{Field: "periods", Why: fmt.Sprintf("period %d of level %d is not positive", c, l)}
		}
	}
	return nil
}

// Step returns the number of completed steps.
func (c *Conductor) Step() int64 { return c.step }

// Pulse returns the pulse of the current step.
func (c *Conductor) Pulse(phase Phase) Pulse {
	p := Pulse{step: c.step, phase: phase, levels: len(c.periods)}
	for l, period := range c.periods {
		if c.step%int64(period) == 0 {
			p.active[l/64] |= 1 << (l % 64)
		}
	}
	return p
}

// Advance completes the current step.
func (c *Conductor) Advance() { c.step++ }

// Resume sets the current step, when a snapshot is loaded.
func (c *Conductor) Resume(step int64) { c.step = step }

// NewPulse returns the pulse of a step with the given levels active, for
// callers without a conductor. There are at most 256 levels.
func NewPulse(step int64, phase Phase, active ...bool) Pulse {
	p := Pulse{step: step, phase: phase, levels: min(len(active), maxLevels)}
	for l, a := range active[:p.levels] {
		if a {
			p.active[l/64] |= 1 << (l % 64)
		}
	}
	return p
}
