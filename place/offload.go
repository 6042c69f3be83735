package place

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Offload says when weights leave memory while a model runs, and when they come back. The
// zero Offload is high=1,low=0.9,cooldown=5: weights leave when the model needs more than the
// process may have, at once, and come back when a tenth is free.
type Offload struct {
	// High is the part of the memory that the process may have from which on weights
	// leave, and Low that up to which they come back. 0 = 1 and 0.9.
	High, Low float64
	// Cooldown is how many looks at the memory, one every 50 ms at most, pass between two
	// moves of one weight. 0 = 5.
	Cooldown int
	// Wait lets the cooldown hold back weights that have to leave, too: until it is over
	// the process has more than it may. Otherwise they leave at once.
	Wait bool
}

// usualOffload is that of the zero value.
var usualOffload = Offload{High: 1, Low: 0.9, Cooldown: 5}

// Or returns the offload with what is not set as it usually is.
func (o Offload) Or() Offload {
	if o.High == 0 {
		o.High = usualOffload.High
	}
	if o.Low == 0 {
		o.Low = min(usualOffload.Low, 0.9*o.High)
	}
	if o.Cooldown == 0 {
		o.Cooldown = usualOffload.Cooldown
	}
	return o
}

// Faults describes what is wrong, "" if nothing is.
func (o Offload) Faults() string {
	o = o.Or()
	switch {
	case !(o.High > 0 && o.High <= 1):
		return fmt.Sprintf("high is %g, want a part above 0 and up to 1", o.High)
	case !(o.Low > 0 && o.Low < o.High):
		return fmt.Sprintf("low is %g, want a part above 0 and below high, which is %g", o.Low, o.High)
	case o.Cooldown < 0 || o.Cooldown > mostCooldown:
		return fmt.Sprintf("cooldown is %d, want 1 to %d", o.Cooldown, mostCooldown)
	}
	return ""
}

// mostCooldown is some hours.
const mostCooldown = 1 << 20

// String returns what [ParseOffload] reads: what is set.
func (o Offload) String() string {
	var out []string
	for _, x := range []struct {
		name  string
		value float64
	}{{"high", o.High}, {"low", o.Low}, {"cooldown", float64(o.Cooldown)}} {
		if x.value != 0 {
			out = append(out, x.name+"="+strconv.FormatFloat(x.value, 'g', -1, 64))
		}
	}
	if o.Wait {
		out = append(out, "wait")
	}
	return strings.Join(out, ",")
}

// ParseOffload reads "high=0.95,low=0.85,cooldown=5,wait", or some of it.
func ParseOffload(s string) (o Offload, err error) {
	for part := range strings.SplitSeq(s, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "wait" && !given:
			o.Wait = true
			continue
		case name == "cooldown" && given:
			o.Cooldown, err = strconv.Atoi(value)
		case name == "high" && given:
			o.High, err = strconv.ParseFloat(value, 64)
		case name == "low" && given:
			o.Low, err = strconv.ParseFloat(value, 64)
		default:
			return Offload{}, fmt.Errorf("%q: want high=PART, low=PART, cooldown=N or wait", part)
		}
		if err != nil {
			return Offload{}, fmt.Errorf("%q: want a number", part)
		}
		if value = strings.Trim(value, "0."); value == "" {
			return Offload{}, fmt.Errorf("%q: want more than 0; leave it out for what is usual", part)
		}
	}
	if f := o.Faults(); f != "" {
		return Offload{}, errors.New(f)
	}
	return o, nil
}
