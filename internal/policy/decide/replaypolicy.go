package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"atenia/internal/policy/record"
)

// ErrPolicy is returned for an unknown policy or a malformed assignment.
var ErrPolicy = errors.New("no such policy")

// A change sets one input of one component.
type change struct {
	component string
	path      []string
	value     any
}

// Policies returns the named policies of [WhatIf], each with the inputs it
// changes.
func Policies() [][2]string {
	return [][2]string{
		{"no-gpu", "planner.gpu_available=false router.gpu_available=false graph.gpu_available=false backward.gpu_available=false warm_start.gpu_available=false placement.gpus=[] trainer.gpu_available=false autoloop.gpu_available=false " +
			"policy.gpu_available=false budget.devices=[]"},
		{"no-cooldown", "autoloop.cooldown=0 policy.cooldown=0 offload.config.cooldown_ticks=0"},
		{"no-pressure", "planner.pressures={} router.pressures={} graph.pressures={} placement.pressures={\"vram\":0,\"ram\":0} offload.pressures={}"},
		{"all-in-ram", "budget.ram=0"},
		{"no-ssd-last-resort", "placement.no_ssd_last_resort=true"},
	}
}

// parsePolicy parses a name from [Policies] or space-separated assignments
// COMPONENT.INPUT=VALUE. A value is JSON, or else text.
func parsePolicy(s string) ([]change, error) {
	for _, p := range Policies() {
		if p[0] == s {
			s = p[1]
		}
	}
	var out []change
	for part := range strings.FieldsSeq(s) {
		left, right, ok := strings.Cut(part, "=")
		path := strings.Split(left, ".")
		if _, known := find(components(), path[0]); !ok || !known || len(path) < 2 {
			return nil, fmt.Errorf("%w %q: want a name or COMPONENT.INPUT=VALUE, such as budget.ram=8000000000", ErrPolicy, part)
		}
		c := change{component: path[0], path: path[1:]}
		if err := decode([]byte(right), &c.value); err != nil {
			c.value = right
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w %q", ErrPolicy, s)
	}
	return out, nil
}

// decode reads JSON and keeps the digits of numbers.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// apply sets the input.
func (c *change) apply(inputs json.RawMessage) (json.RawMessage, error) {
	var root map[string]any
	if err := decode(inputs, &root); err != nil {
		return nil, err
	}
	at := root
	for _, name := range c.path[:len(c.path)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("there is no input %s.%s", c.component, strings.Join(c.path, "."))
		}
		at = next
	}
	at[c.path[len(c.path)-1]] = c.value
	return json.Marshal(root)
}

// WhatIf replays every record of a log under another policy and reports those
// whose rule, target, device or reason differ. The policy is a name from
// [Policies] or assignments such as "budget.ram=8000000000
// planner.gpu_available=false".
func WhatIf(log io.Reader, policy string) (*ReplayReport, error) {
	changes, err := parsePolicy(policy)
	if err != nil {
		return nil, err
	}
	c := checker{list: components(), history: history{results: map[uint64]any{}}}
	var bad error // a value that no record accepts
	r, err := run(log, func(l *record.Line) *Difference {
		d := &Difference{Line: l.Number, Seq: l.Seq, Component: l.Component}
		was := l.Record
		err := func() (err error) {
			for _, ch := range changes {
				if ch.component == l.Component && err == nil {
					l.Inputs, err = ch.apply(l.Inputs)
				}
			}
			return err
		}()
		c.next = l.Seq
		var made record.Record
		if err == nil {
			made, err = c.again(l)
		}
		if err != nil {
			if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong && bad == nil {
				bad = fmt.Errorf("%w %q: %w", ErrPolicy, policy, err)
			}
			d.Fields = []Field{{"error", "", err.Error()}}
			return d
		}
		for _, f := range fields(&was, &made) {
			switch f.Name {
			case "rule", "target", "device", "reason":
				d.Fields = append(d.Fields, f)
			}
		}
		if len(d.Fields) == 0 {
			return nil
		}
		return d
	})
	if bad != nil {
		return nil, bad
	}
	return r, err
}
