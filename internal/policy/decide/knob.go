package decide

import "fmt"

// A Knob is something that has several settings which give the same results at
// different speeds.
type Knob uint8

// The knobs.
const (
	threads     Knob = iota // how many threads compute a step
	weightsKnob             // packed, mapped or streamed
	readers                 // how many reads of a ring are in flight: its depth
	codec                   // how blocks of streamed weights are coded
	device                  // which processor computes
	knobs
)

var knobNames = [...]string{"threads", "weights", "readers", "codec", "device"}

// String returns the name, such as "threads".
func (k Knob) String() string {
	if k < knobs {
		return knobNames[k]
	}
	return fmt.Sprintf("Knob(%d)", uint8(k))
}

// MarshalText writes the name.
func (k Knob) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a name.
func (k *Knob) UnmarshalText(text []byte) error {
	for i, n := range knobNames {
		if n == string(text) {
			*k = Knob(i)
			return nil
		}
	}
	return fmt.Errorf("no knob %q; there are %v", text, knobNames)
}

// A Place is where statistics of a knob's settings are counted together: a
// bucket of pressures, one model, one class of work.
type Place struct {
	Bucket
	Model string `json:"model"` // its identity, see package adapt
	Class string `json:"class"` // such as "decode packed"
	Knob  Knob   `json:"knob"`
}

// An Option is one setting of a knob.
type Option struct {
	Name string
	// Guess is how many times longer than the current option this one takes, as
	// far as that is known before it was tried; 0 is 1.
	Guess float64
}

// An Arm is what is known of one option in one place.
type Arm struct {
	Option  string  `json:"option"`
	Guess   float64 `json:"guess"`
	Count   uint32  `json:"count"` // episodes
	Success uint32  `json:"success"`
	Seconds float64 `json:"seconds"` // mean of an episode, of late; 0 is unknown
	Spent   float64 `json:"spent"`   // seconds in all
	Lost    float64 `json:"lost"`    // of them, by trials that were slower
	Dev     float64 `json:"dev"`     // mean deviation from Seconds, as a part of it
	Fresh   uint32  `json:"fresh"`   // episodes that Seconds is the mean of
	Age     uint64  `json:"age"`     // episodes of the place since the last with this option
}

// expect returns how long an episode should take, given that of the current
// option.
func (a *Arm) expect(current float64) float64 {
	if a.Seconds > 0 {
		return a.Seconds
	}
	return current * max(a.Guess, 0.5)
}
