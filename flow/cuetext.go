package flow

import (
	"fmt"
	"strconv"
	"strings"
)

// allListeners stands for every node that takes events, in the text of a cue.
const allListeners = "*"

// String returns the cue as [ParseControl] reads it. [ControlToken.String] shows the forms.
func (c *Cue) String() string {
	real := func(v float64, bits int) string { return strconv.FormatFloat(v, 'g', -1, bits) }
	var s string
	switch {
	case c.Param != "" && c.Clear:
		s = fmt.Sprintf("@%d clear %s.%s", c.Frame, c.Node, c.Param)
	case c.Param != "":
		s = fmt.Sprintf("@%d set %s.%s %s", c.Frame, c.Node, c.Param, real(c.Value, 64))
	default:
		to := c.Node
		if to == "" {
			to = allListeners
		}
		e := &c.Event
		s = fmt.Sprintf("@%d %v %s %d %d %s", c.Frame, e.Kind, to, e.Channel, e.Key, real(float64(e.Value), 32))
		if e.Tune != 0 {
			s += " " + real(float64(e.Tune), 32)
		}
		return s
	}
	if c.Ramp != 0 {
		s += fmt.Sprintf(" %d", c.Ramp)
	}
	return s
}

// parseCue reads the words of a cue.
func parseCue(w []string) (*Cue, error) {
	c := &Cue{}
	var err error
	if c.Frame, err = strconv.ParseInt(w[0][1:], 10, 64); err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	if w[1] == "set" || w[1] == "clear" {
		return c, c.parseParam(w[1] == "clear", w[2:])
	}
	if err := c.Event.Kind.UnmarshalText([]byte(w[1])); err != nil {
		return nil, err
	}
	if len(w) != 6 && len(w) != 7 {
		return nil, fmt.Errorf("%q: want %s NODE CHANNEL KEY VALUE [TUNE]", strings.Join(w[1:], " "), w[1])
	}
	if c.Node = w[2]; c.Node == allListeners {
		c.Node = ""
	}
	for i, to := range []*uint8{&c.Event.Channel, &c.Event.Key} {
		v, err := strconv.ParseUint(w[3+i], 10, 8)
		if err != nil {
			return nil, fmt.Errorf("channel or key: %w", err)
		}
		*to = uint8(v)
	}
	for i, to := range []*float32{&c.Event.Value, &c.Event.Tune} {
		if len(w) > 5+i {
			v, err := strconv.ParseFloat(w[5+i], 32)
			if err != nil {
				return nil, fmt.Errorf("value: %w", err)
			}
			*to = float32(v)
		}
	}
	return c, nil
}

// parseParam reads NODE.PARAM [VALUE] [RAMP].
func (c *Cue) parseParam(clear bool, w []string) (err error) {
	if c.Node, c.Param, err = cutParam(w[0]); err != nil {
		return err
	}
	w = w[1:]
	if c.Clear = clear; !clear {
		if len(w) == 0 {
			return fmt.Errorf("set %s.%s: want a value", c.Node, c.Param)
		}
		if c.Value, err = strconv.ParseFloat(w[0], 64); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		w = w[1:]
	}
	if len(w) > 1 {
		return fmt.Errorf("%q: want one value and a ramp", strings.Join(w, " "))
	}
	if len(w) == 1 {
		if c.Ramp, err = strconv.ParseInt(w[0], 10, 64); err != nil {
			return fmt.Errorf("ramp: %w", err)
		}
	}
	return nil
}
