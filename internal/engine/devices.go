package engine

import (
	"context"
	"reflect"
	"sync"

	"atenia/internal/exec"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/policy/decide"
)

// The rules of pressures beside the plan of bytes: what package memory decides of each weight
// by pressures and devices, when a model is opened and whenever its weights are placed again.

// ask returns a function that looks for the devices of the machine when it is first called.
func (p *Plan) ask(ctx context.Context) func() decide.Devices {
	return sync.OnceValue(func() (d decide.Devices) {
		if p.Config.Devices != nil {
			d = p.Config.Devices(ctx)
		}
		return d
	})
}

// A ruled is what the rules say of the weights.
type ruled struct {
	devices decide.Devices
	on      decide.Executors
	answers []memory.Decision // by weight, as recorded last
	bound   []decide.Bound    // by where the rules want them, and where they are
}

// rule asks the rules where the weights belong at a pressure of memory, nil = unknown, records what changed,
// and compares the answers with where the plan has them; nil = they are mapped.
func (p *pressure) rule(pl *place.Placement, ram *float32) {
	r := &p.ruled
	s := r.devices.Snapshot
	s.Pressure.RAM = ram
	f, c := p.e.Plan.footprint, p.e.Plan.Effective()
	if r.answers == nil {
		r.answers = make([]memory.Decision, len(f.tensors))
	}
	var bound []decide.Bound
	for i := range f.tensors {
		t := &f.tensors[i]
		profile := f.profile(t, c.BatchTokens)
		d := memory.Decide(profile, s, c.noSSD())
		if was := &r.answers[i]; was.Reason != d.Reason || was.To != d.To || was.Device != d.Device {
			r.answers[i] = p.record.Place(profile, &s, c.noSSD())
		}
		b := decide.Bound{To: d.To, Device: d.Device, Because: d.Reason, At: memory.RAM, Rule: p.e.Form(), Executors: r.on}
		if pl != nil {
			if at, ok := pl.Tensor(t.Name); ok {
				b.At, b.Rule = at.Tier, string(at.Rule)
			}
		}
		bound = add(bound, b, t.Bytes)
	}
	if !reflect.DeepEqual(bound, r.bound) {
		for _, b := range bound {
			p.record.Bind(b)
		}
		r.bound = bound
	}
}

// executors returns where the kernels of the next tick can run. What was learned may prefer
// the processor to a device.
func (p *pressure) executors() decide.Executors {
	if l := p.e.Plan.Config.Observer.Learner(); p.ruled.on.GPU && l.Backend() == decide.CPU {
		return decide.Executors{Idle: "the processor was measured to be faster"}
	}
	return p.ruled.on
}

// add counts a weight among those that are alike.
func add(all []decide.Bound, b decide.Bound, bytes int64) []decide.Bound {
	for i := range all {
		like := all[i]
		like.Tensors, like.Bytes = 0, 0
		if like == b {
			all[i].Tensors, all[i].Bytes = all[i].Tensors+1, all[i].Bytes+uint64(bytes)
			return all
		}
	}
	b.Tensors, b.Bytes = 1, uint64(bytes)
	return append(all, b)
}

// noSSD reports whether no weight may be read from storage while the model runs.
func (c *Config) noSSD() bool {
	at, ok := memory.Parse(c.Rules.MaxTier)
	return ok && at != memory.SSD
}

// profile describes a weight to the rules. Its cost is what the longest step computes with
// it, in billions of operations; that of rows that are looked up is nothing.
func (f *footprint) profile(t *place.Tensor, tokens int) memory.TensorProfile {
	p := memory.TensorProfile{Name: t.Name, Elements: uint64(t.Bytes), ElementBytes: 1}
	n := uint64(1)
	for _, d := range f.headers[t.Name].Shape {
		n *= uint64(d)
	}
	if len(f.headers[t.Name].Shape) == 0 || n == 0 {
		return p
	}
	if uint64(t.Bytes)%n == 0 { // else elements of a block share bytes
		p.Elements, p.ElementBytes = n, uint32(uint64(t.Bytes)/n)
	}
	if t.Multiplied() {
		cost := float32(2 * float64(n) * t.Uses * float64(tokens) / 1e9)
		p.Cost = &cost
	}
	return p
}

// Computes reports whether a backend of this binary computes on a device.
func Computes() bool { return len(exec.Devices()) > 0 }

// Ruled returns what the rules of placement say of the weights, beside where they are, and
// where the kernels ran in the last tick.
func (e *Engine) Ruled() ([]decide.Bound, []decide.Bundle) {
	if e.pressure == nil {
		return nil, nil
	}
	return e.pressure.ruled.bound, e.pressure.routed
}
