package place

import (
	"cmp"
	"slices"

	"atenia/internal/memory"
	"atenia/internal/spelling"
	pub "atenia/place"
)

// Place decides in which memory every tensor lives. Its errors are
// [*inputError], [*pinError], [*requireError] and [*FloorError].
func Place(in Input) (*Placement, error) {
	p, err := place(in, nil)
	if err != nil {
		return nil, err
	}
	p.changes("")
	return p, nil
}

// place is Place without the search for changes. fixed, if not nil, holds the
// placements of a plan file.
func place(in Input, fixed map[string]Placed) (*Placement, error) {
	in, err := in.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &placer{in: in, out: make([]Placed, len(in.Tensors)), done: make([]bool, len(in.Tensors)), stage: stagesOf(in.Tensors)}
	for i := range in.Tensors {
		b.out[i].Tensor = in.Tensors[i]
	}
	// The order matters: first what class or user dictates, then the devices,
	// because they are fastest, then RAM and the SSD together.
	for _, step := range []func() error{
		b.pins, func() error { return b.follow(fixed) }, b.together, b.placeByClass, b.devices, b.require, b.memory,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p := &Placement{Tensors: b.out, Ring: b.ring, Cache: b.cache, in: in, stage: b.stage}
	p.predict()
	return p, nil
}

// A placer is a plan under construction.
type placer struct {
	in    Input
	out   []Placed
	done  []bool // tensors that have a tier
	stage []int  // as in [Placement]
	ring  Ring
	cache Cache
}

func (b *placer) set(i int, t memory.Tier, device string, r Rule) {
	b.out[i].Tier, b.out[i].Device, b.out[i].Rule, b.done[i] = t, device, r, true
}

// follow applies the placements of a plan file.
func (b *placer) follow(fixed map[string]Placed) error {
	for i := range b.out {
		if f, ok := fixed[b.out[i].Name]; ok && !b.done[i] {
			if why := b.forbids(i, f.Tier); why != "" {
				return &pinError{Pin: b.out[i].Name + "=" + f.Tier.Lower(), Tensor: b.out[i].Name, Why: why}
			}
			b.set(i, f.Tier, f.Device, f.Rule)
		}
	}
	return nil
}

// forbids returns why a tensor cannot live in a tier, or "".
func (b *placer) forbids(i int, t memory.Tier) string {
	x := &b.out[i]
	switch {
	case t == memory.RAM:
		return ""
	case t == memory.CPU:
		return "the processor is not a memory"
	case x.Class == KV, x.Class == Buffer:
		return "tensors written by every step are kept in ram"
	case t == memory.SSD && x.Held != "":
		return "it is " + x.Held + ", so no file has its bytes"
	case t == memory.SSD && x.Class == Vector:
		return "vectors are too small to be worth a read: they are kept in ram"
	case t == memory.SSD && b.in.MaxTier != nil && *b.in.MaxTier != memory.SSD:
		return "the slowest tier allowed is " + b.in.MaxTier.Lower()
	}
	return ""
}

// pins applies the user's pins. A pin that matches no tensor is an error.
func (b *placer) pins() error {
	used := make([]bool, len(b.in.Pins))
	for i := range b.out {
		first := true
		for k, pin := range b.in.Pins {
			if !b.out[i].Matches(pin.Match) {
				continue
			}
			used[k] = true
			if !first || b.done[i] {
				continue
			}
			first = false
			if why := b.forbids(i, pin.Tier); why != "" {
				return &pinError{Pin: pin.String(), Tensor: b.out[i].Name, Why: why}
			}
			device := pin.Device
			if pin.Tier == memory.VRAM {
				var err error
				if device, err = b.deviceFor(i, pin); err != nil {
					return err
				}
			}
			b.set(i, pin.Tier, device, RulePin)
		}
	}
	if k := slices.Index(used, false); k >= 0 {
		return &pinError{Pin: b.in.Pins[k].String(), Why: noSuchName(b.in.Pins[k].Match.String(), b.out)}
	}
	return nil
}

// deviceFor returns the device for a pinned tensor.
func (b *placer) deviceFor(i int, pin Pin) (string, error) {
	for _, d := range b.in.Devices {
		if (pin.Device == "" || pin.Device == d.ID) && b.free(d) >= b.out[i].Bytes {
			return d.ID, nil
		}
	}
	return "", &pinError{Pin: pin.String(), Tensor: b.out[i].Name, Why: "the budget has no device with " + spelling.Size(b.out[i].Bytes) + " left; none computes yet: pin to ram or ssd to run it"}
}

func (b *placer) free(d Device) int64 {
	n := d.Bytes
	for i := range b.out {
		if b.done[i] && b.out[i].Tier == memory.VRAM && b.out[i].Device == d.ID {
			n -= b.out[i].Bytes
		}
	}
	return n
}

// placeByClass places the tensors whose class dictates their tier.
func (b *placer) placeByClass() error {
	for i := range b.out {
		if b.done[i] {
			continue
		}
		switch t := &b.out[i]; {
		case t.Class == KV:
			b.set(i, memory.RAM, "", RuleKV)
		case t.Class == Buffer:
			b.set(i, memory.RAM, "", RuleBuffer)
		case t.Class == Vector:
			b.set(i, memory.RAM, "", RuleVector)
		}
	}
	return nil
}

// devices fills VRAM with the tensors that are read most for their size; ties go
// in the order of use, so that consecutive layers share a device.
func (b *placer) devices() error {
	order := b.byValue(func(i int) bool { return !b.done[i] && !b.out[i].ByRow })
	free := make([]int64, len(b.in.Devices))
	for k, d := range b.in.Devices {
		free[k] = b.free(d)
		if free[k] < 0 {
			return &FloorError{Tier: pub.TierVRAM, Device: d.ID, Budget: d.Bytes, Floor: d.Bytes - free[k], Why: "a plan file puts that much there", Parts: []Part{{Name: "tensors", Bytes: d.Bytes - free[k]}}}
		}
	}
	for _, i := range order {
		for k, d := range b.in.Devices {
			if b.out[i].Bytes <= free[k] {
				free[k] -= b.out[i].Bytes
				b.set(i, memory.VRAM, d.ID, RuleVRAM)
				break
			}
		}
	}
	return nil
}

// byValue returns the tensors for which pass is true, sorted by the bytes that a
// decode pass reads for each byte they hold; ties stay in the order of use.
func (b *placer) byValue(pass func(i int) bool) []int {
	var order []int
	for i := range b.out {
		if pass(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(b.value(k), b.value(i)) })
	return order
}

// value is the number of bytes of reading that each byte of RAM saves per pass.
func (b *placer) value(i int) float64 {
	t := &b.out[i]
	switch {
	case t.Bytes == 0:
		return maxTensors
	case t.ByRow:
		return float64(t.RowBytes) / float64(t.Bytes)
	}
	return t.Uses
}

// require checks the user's requirements.
func (b *placer) require() error {
	wanted := b.in.RequireGPU || b.in.MaxTier != nil && *b.in.MaxTier == memory.VRAM
	if !wanted {
		return nil
	}
	if len(b.in.Devices) == 0 {
		return &requireError{Why: "a GPU is required, and no VRAM is in the budget"}
	}
	for i := range b.out {
		t := &b.out[i]
		if (t.Class == Weight || t.Class == Expert) && !t.ByRow && !(b.done[i] && t.Tier == memory.VRAM) {
			return &requireError{Tensor: t.Name, Why: "a GPU is required, and no device has " + spelling.Size(t.Bytes) + " left for it"}
		}
	}
	return nil
}
