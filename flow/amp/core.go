package amp

import (
	"fmt"
	"slices"
	"sync"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/watch"
)

// A core is the part of an instance that does not depend on the number type:
// everything that C sees, in memory outside Go's heap, and the calls. Go
// pointers in it are set only on construction; calls write integers alone, as
// real time requires.
type core struct {
	lib    *Library
	name   string
	place  *watch.Place // where its code runs
	once   sync.Once    // free
	mem    *abi.Memory
	counts counts

	desc    *abi.Descriptor
	slot    *uintptr // slot that holds the state
	list    *abi.List
	rec     *abi.Record
	aside   *abi.List // release, save and load
	other   *abi.Record
	metrics *abi.Metrics // nil: not passed
	notes   *abi.Events  // nil: the type takes none

	in, out   []abi.Buffer // forward
	gin, gout []abi.Buffer // backward
	zero      uintptr      // a zero value, for absent parameters
	planned   []uintptr    // by parameter: its values in the plan, for the call without frames
	plans     []graph.Tensor

	ins, params, outs int
	shapes            []graph.Shape // of the outputs
	rows              graph.Shape   // of the parameters
	order             []int         // place of each of the type's parameters in node.Call.Param
	given             []bool        // the plan gives the parameter
	caps              uint32
	useV2             bool
	began, swept      bool // a forward call, a backward call was made since the last start
	maxTokens         int
	stateBytes        int
	declared          uint32
}

// newCore allocates everything that C sees of a linked node.
func newCore(l *Library, cfg node.Config, dtype uint32) (*core, error) {
	n := cfg.Node
	typ, ok := find(l.manifest, n.Type)
	if !ok {
		return nil, &graph.Error{Code: graph.UnknownNode, Path: n.Path + ".type", Names: []string{n.Name}, Text: l.path + " has no type " + n.Type}
	}
	if dtype == abi.F64 && typ.Caps&abi.CapF64 == 0 {
		return nil, &graph.Error{Code: graph.Unsupported, Path: n.Path + ".type", Names: []string{n.Name}, Text: n.Type + " computes in float32 alone: run the graph in float32"}
	}
	text, err := paramsJSON(n.Params)
	if err != nil {
		return nil, err
	}
	c := &core{lib: l, name: n.Name, caps: uint32(typ.Caps), ins: len(typ.Inputs), outs: len(typ.Outputs), params: len(typ.Params),
		shapes: slices.Clone(n.OutShape), rows: n.Rows, maxTokens: max(cfg.MaxTokens, 1), useV2: n.SupportsV2 && l.v2 != 0,
		declared: uint32(max(n.DeclaredDelay, typ.DeclaredDelay))}
	for _, name := range typ.Params {
		i := slices.IndexFunc(n.Spec.Params, func(p graph.ParamSpec) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("node %s: it was not described by this library", n.Name)
		}
		c.order = append(c.order, i)
		c.given = append(c.given, n.Param(name) != nil)
	}
	if err := c.allocate(n, text, dtype); err != nil {
		return nil, err
	}
	d := c.desc
	d.StructSize, d.Version, d.DType = 136, 1, dtype
	d.Inputs, d.ParamCount, d.Outputs = uint32(c.ins), uint32(c.params), uint32(c.outs)
	d.OversampleRatio, d.DeclaredDelay = uint32(max(n.OversampleRatio, 1)), uint32(n.DeclaredDelay)
	d.MaxFrames, d.SampleRate, d.Host = uint32(c.maxTokens), cfg.SampleRate, l.callbacks.Host()
	if n.SupportsV2 || n.OversampleRatio > 1 || n.DeclaredDelay > 0 {
		d.Version = 2
	}
	if n.SupportsV2 {
		d.Flags |= abi.DescV2
	}
	if cfg.Training {
		d.Flags |= abi.DescTraining
	}
	c.rec.Fn = l.v1
	if c.useV2 {
		c.rec.Fn = l.v2
	} else if n.SupportsV2 {
		c.counts.add(NoV2)
	}
	rate := n.Rate
	for _, list := range [][]abi.Buffer{c.in, c.out, c.gin, c.gout} {
		for i := range list {
			list[i].DType, list[i].RateNum, list[i].RateDen = dtype, uint32(max(rate.Num, 1)), uint32(max(rate.Den, 1))
		}
	}
	c.place = watch.New(fmt.Sprintf("node %q (%s)", n.Name, l.path))
	l.mu.Lock()
	l.instances = append(l.instances, c)
	l.mu.Unlock()
	return c, nil
}

// allocate lays out what C sees.
func (c *core) allocate(n *graph.LinkedNode, text string, dtype uint32) error {
	forward, backward := c.ins+c.params, c.ins+c.params+2*c.outs+1
	bytes := abi.SizeOf[abi.Descriptor](1) + abi.SizeOf[byte](len(n.Name)+1) + abi.SizeOf[byte](len(n.Type)+1) + abi.SizeOf[byte](len(text)+1) +
		2*(abi.SizeOf[abi.List](1)+abi.SizeOf[abi.Record](1)) + abi.SizeOf[abi.Metrics](1) + abi.SizeOf[abi.Events](1) + 2*abi.SizeOf[uintptr](1) +
		abi.SizeOf[abi.Buffer](forward) + abi.SizeOf[abi.Buffer](c.outs) + abi.SizeOf[abi.Buffer](backward) + abi.SizeOf[abi.Buffer](forward)
	scratch := c.rows.B * c.rows.C * c.maxTokens
	for _, i := range c.order {
		scratch = max(scratch, len(n.Spec.Params[i].Value.Data))
	}
	for _, i := range c.order {
		bytes += abi.SizeOf[float64](len(n.Spec.Params[i].Value.Data))
	}
	if n.Spec.Adjoint {
		bytes += 2 * c.params * abi.SizeOf[float64](scratch)
	}
	var err error
	if c.mem, err = abi.NewMemory(bytes); err != nil {
		return err
	}
	desc := abi.Make[abi.Descriptor](c.mem, 1)
	c.desc = &desc[0]
	c.desc.Name, c.desc.NameLen = abi.MakeString(c.mem, n.Name), uint64(len(n.Name))
	c.desc.Type, c.desc.TypeLen = abi.MakeString(c.mem, n.Type), uint64(len(n.Type))
	c.desc.Params, c.desc.ParamsLen = abi.MakeString(c.mem, text), uint64(len(text))
	c.list, c.rec = oneCall(c.mem)
	c.aside, c.other = oneCall(c.mem)
	if metrics := abi.Make[abi.Metrics](c.mem, 1); !c.lib.opt.NoMetrics {
		c.metrics, c.rec.Metrics = &metrics[0], abi.Address(metrics)
	}
	c.extend()
	slot, zero := abi.Make[uintptr](c.mem, 1), abi.Make[float64](c.mem, 1)
	c.slot, c.zero = &slot[0], abi.Address(zero)
	for _, i := range c.order {
		v := n.Spec.Params[i].Value
		c.plans = append(c.plans, v)
		if dtype == abi.F64 {
			c.planned = append(c.planned, planned[float64](c.mem, v.Data))
		} else {
			c.planned = append(c.planned, planned[float32](c.mem, v.Data))
		}
	}
	c.rec.Desc, c.rec.State = abi.Address(desc), abi.Address(slot)
	c.in, c.out = abi.Make[abi.Buffer](c.mem, forward), abi.Make[abi.Buffer](c.mem, c.outs)
	c.gin, c.gout = abi.Make[abi.Buffer](c.mem, backward), abi.Make[abi.Buffer](c.mem, forward)
	return nil
}

// planned copies values to where C sees them, and returns the address.
func planned[F node.Float](m *abi.Memory, values []float64) uintptr {
	to := abi.Make[F](m, len(values))
	for i, v := range values {
		to[i] = F(v)
	}
	return abi.Address(to)
}

// free releases the state and the memory, once.
func (c *core) free() {
	c.once.Do(func() {
		c.releaseState()
		c.place.Free()
		c.mem.Release()
	})
}

// close removes the instance from its library's list and frees it.
func (c *core) close() {
	c.lib.mu.Lock()
	c.lib.left = append(c.lib.left, c.events()...)
	c.lib.instances = slices.DeleteFunc(c.lib.instances, func(x *core) bool { return x == c })
	c.lib.mu.Unlock()
	c.free()
}
