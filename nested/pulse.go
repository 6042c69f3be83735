package nested

import (
	"fmt"
	"slices"
)

// A Phase is what a step is for. The forward values of a step are the same,
// bit for bit, in every phase, and memory learns in all of them.
type Phase uint8

const (
	// Build records a tape, goes back over it and steps the parameters.
	Build Phase = iota
	// Test only reads and writes memory, over a stream that ends.
	Test
	// Stream does what Test does, over a stream that does not end.
	Stream
)

var phaseNames = [...]string{"build", "test", "stream"}

func (p Phase) String() string { return enumName(p, phaseNames[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (p Phase) MarshalText() ([]byte, error) { return enumText(p, phaseNames[:]) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Phase) UnmarshalText(b []byte) (err error) {
	*p, err = enumOf[Phase]("phase", string(b), phaseNames[:])
	return err
}

// A Pulse says which levels learn in one step. Everything that belongs to a
// step sees the same pulse; it cannot be changed.
type Pulse struct {
	step   int64
	phase  Phase
	active []bool
}

// Step is the number of chunks before this one.
func (p Pulse) Step() int64 { return p.step }

// Phase is what the step is for.
func (p Pulse) Phase() Phase { return p.phase }

// Levels is the number of levels.
func (p Pulse) Levels() int { return len(p.active) }

// Active reports whether the level writes its memory and steps its parameters.
func (p Pulse) Active(level int) bool { return p.active[level] }

func (p Pulse) String() string {
	b := make([]byte, len(p.active))
	for i, a := range p.active {
		b[i] = '.'
		if a {
			b[i] = '#'
		}
	}
	return fmt.Sprintf("step %d %s %s", p.step, p.phase, b)
}

// A Conductor counts steps and says which levels are due in each: level l in
// steps that its period divides, so that all are in step 0.
//
// The order within a step is observe, then advance: take the [Pulse], do all
// of the work with it, and call [Conductor.Advance] last and only if the work
// succeeded. A step that failed is then done again as the same step.
type Conductor struct {
	periods []int
	step    int64
	pulse   Pulse
	fresh   bool // pulse is of this step
}

// NewConductor returns a conductor at step 0. Periods are in steps, one a
// level; that of the first must be 1 and all must be positive.
func NewConductor(periods ...int) (*Conductor, error) {
	if err := checkPeriods(periods); err != nil {
		return nil, err
	}
	return &Conductor{periods: slices.Clone(periods)}, nil
}

func checkPeriods(periods []int) error {
	if len(periods) == 0 {
		return &ConfigError{Field: "periods", Why: "there must be a level"}
	}
	if periods[0] != 1 {
		return &ConfigError{Field: "periods", Why: fmt.Sprintf("the first level learns in every step: its period is 1, not %d", periods[0])}
	}
	for l, c := range periods {
		if c < 1 {
			return &ConfigError{Field: "periods", Why: fmt.Sprintf("period %d of level %d is not positive", c, l)}
		}
	}
	return nil
}

// Step returns the number of steps done.
func (c *Conductor) Step() int64 { return c.step }

// Pulse returns the pulse of the present step.
func (c *Conductor) Pulse(phase Phase) Pulse {
	if !c.fresh || c.pulse.phase != phase {
		active := make([]bool, len(c.periods))
		for l, p := range c.periods {
			active[l] = c.step%int64(p) == 0
		}
		c.pulse, c.fresh = Pulse{step: c.step, phase: phase, active: active}, true
	}
	return c.pulse
}

// Advance ends the present step.
func (c *Conductor) Advance() { c.step, c.fresh = c.step+1, false }

// Resume makes step the present one, when a checkpoint is loaded.
func (c *Conductor) Resume(step int64) { c.step, c.fresh = step, false }

// NewPulse returns the pulse of a step in which the given levels are active,
// whatever a conductor says.
func NewPulse(step int64, phase Phase, active ...bool) Pulse {
	return Pulse{step: step, phase: phase, active: slices.Clone(active)}
}
