package amp

import (
	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
)

// oneCall makes a list of one record.
func oneCall(m *abi.Memory) (*abi.List, *abi.Record) {
	l, r := abi.Make[abi.List](m, 1), abi.Make[abi.Record](m, 1)
	l[0] = abi.List{Records: abi.Address(r), Count: 1}
	return &l[0], &r[0]
}

// run makes the call prepared in the record, and does what every call requires:
// it releases superseded states, and turns results that no node may return into
// failures.
func (c *core) run() graph.Code {
	if c.metrics != nil {
		*c.metrics = abi.Metrics{}
	}
	before := *c.slot
	c.place.Enter()
	abi.Run(c.list)
	c.place.Leave()
	if c.list.EnvChanged != 0 {
		c.list.EnvChanged = 0
		c.counts.add(Environment)
	}
	c.superseded(before)
	code := graph.Code(c.rec.Result)
	if code > graph.Success || code < graph.End {
		c.counts.add(BadCode)
		return graph.Fail
	}
	return code
}

// superseded releases a state that the node has replaced.
func (c *core) superseded(before uintptr) {
	if before != 0 && before != *c.slot {
		c.releaseOne(before)
	}
}

// releaseState releases the current state.
func (c *core) releaseState() {
	if s := *c.slot; s != 0 {
		*c.slot = 0
		c.releaseOne(s)
	}
}

func (c *core) releaseOne(state uintptr) {
	if c.lib.release == 0 { // declared stateless, yet it made one
		return
	}
	c.call(c.lib.release, state, 0, 0, 0)
}

// call calls another function of the library.
func (c *core) call(f, a1, a2, a3, a4 uintptr) int32 {
	c.other.Fn, c.other.Desc, c.other.State, c.other.In, c.other.Out = f, a1, a2, a3, a4
	c.place.Enter()
	abi.Run(c.aside)
	c.place.Leave()
	if c.aside.EnvChanged != 0 {
		c.aside.EnvChanged = 0
		c.counts.add(Environment)
	}
	return c.other.Result
}

// reset drops the state, as before the first frame.
func (c *core) reset() {
	c.releaseState()
	c.began, c.swept = false, false
}

// prime makes the node create its state by a call of no frames, so that a snapshot from before the first frame is like
// any other. Parameters have the plan's values, as in the first call with frames: a node may compute what it keeps from
// them. A parameter with a value for each frame has none here.
func (c *core) prime() {
	if *c.slot != 0 {
		return
	}
	for i := range c.in {
		b := &c.in[i]
		if i < c.ins {
			shape(b, c.rows, 0)
			b.Data, b.Flags = c.zero, 0
			continue
		}
		v := &c.plans[i-c.ins]
		b.Data, b.Role, b.Flags = c.planned[i-c.ins], abi.RoleParam, 0
		switch {
		case !c.given[i-c.ins]:
			shape(b, graph.Shape{B: 1, C: 1}, 1)
			b.Data, b.Flags = c.zero, abi.Const|abi.Absent|abi.Silent
		case v.F > 1:
			shape(b, graph.Shape{B: v.B, C: v.C}, 0)
		default:
			shape(b, graph.Shape{B: v.B, C: v.C}, 1)
			if b.Flags |= abi.Const; len(v.Data) == 1 && v.Data[0] == 0 {
				b.Flags |= abi.Silent
			}
		}
	}
	for i := range c.out {
		shape(&c.out[i], c.shapes[i], 0)
		c.out[i].Data, c.out[i].Flags = c.zero, 0
	}
	c.rec.In, c.rec.Out, c.rec.Mode = abi.Address(c.in), abi.Address(c.out), abi.Forward
	c.run()
}

// shape sets rows and frames of a buffer with contiguous rows.
func shape(b *abi.Buffer, s graph.Shape, frames int) {
	b.Batches, b.Channels, b.Frames = uint32(s.B), uint32(s.C), uint32(frames)
	b.StrideB, b.StrideC = int64(s.C*frames), int64(frames)
}

// snapshotBytes returns the length of a snapshot, which never decreases.
func (c *core) snapshotBytes() int {
	c.prime()
	if n := c.call(c.lib.save, c.rec.Desc, *c.slot, 0, 0); int(n) > c.stateBytes {
		c.stateBytes = int(n)
	}
	return c.stateBytes
}

// snapshot writes a snapshot and returns its length, 0 if there is none.
func (c *core) snapshot(dst []byte) int {
	c.prime()
	n := c.call(c.lib.save, c.rec.Desc, *c.slot, abi.Address(dst), uintptr(len(dst)))
	if n < 0 || int(n) > len(dst) {
		return 0
	}
	return int(n)
}

// restore replaces the state by a snapshot. The state's own memory, where a
// backward sweep may keep data, stays.
func (c *core) restore(src []byte) graph.Code {
	before := *c.slot
	code := graph.Code(c.call(c.lib.load, c.rec.Desc, c.rec.State, abi.Address(src), uintptr(len(src))))
	c.superseded(before)
	if code != graph.Success {
		return graph.State
	}
	c.began = true
	return graph.Success
}
